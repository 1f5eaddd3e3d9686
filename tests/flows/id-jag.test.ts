/**
 * Two servers and one app (ID-JAG): the one where somebody signs in vouches for them at the other, by `oauth4webapi`, at two processes of it.
 * @needs latchkey-token-exchange, latchkey-jwt-bearer
 */
import { decodeJwt, decodeProtectedHeader } from 'jose'
import * as oauth4webapi from 'oauth4webapi'
import { expect, onTestFinished, test } from 'vitest'
import { spawnBeside } from '../support/beside.ts'
import { createDpopKey, prove } from '../support/dpop.ts'
import { spawnServer } from '../support/process.ts'
import { basic } from '../support/requests.ts'
import { startServer } from '../support/server.ts'
import { exchangeAs } from '../support/code-flow.ts'
import { toClient } from '../support/service.ts'
import { answerOf, authorizationUrl, getTokens, goThrough, SEED, WEB } from '../support/sign-in.ts'
import { APP, bring, GRANT, JAG_SEED, SHELF } from '../support/trusted-issuer.ts'
import { freePort } from '../support/settings.ts'
import { createUserAgent } from '../support/user-agent.ts'

const EXCHANGE = 'urn:ietf:params:oauth:grant-type:token-exchange'
const TYPE = 'urn:ietf:params:oauth:token-type:'
const port = await freePort()
const there = `http://127.0.0.1:${port}`
const rules = [
  {
    subject_clients: ['web'],
    audiences: [there],
    resources: [SHELF],
    scopes: ['read_shelf'],
    client_id: 'app',
  },
]
const home = await startServer({}, {
  seed: { ...SEED, clients: [{ ...WEB, grant_types: ['authorization_code', 'refresh_token', EXCHANGE], token_exchange: rules }] },
}) // prettier-ignore
const one = await spawnServer(
  { PORT: port, OIDC_ISSUER: there, UNSAFE_OUTBOUND_ORIGINS: home.url },
  { seed: { ...JAG_SEED, trusted_issuers: [{ issuer: home.url, jwks_uri: `${home.url}/jwks`, subject: 'email', scopes: ['read_shelf', 'read_books'] }] } },
) // prettier-ignore
const two = await spawnBeside(one.settings, one.database)
const { id_token, refresh_token, access_token } = await getTokens(home, { scope: 'openid email' })

/** That alice's browser got for another app. */
async function idTokenOf(by: typeof WEB): Promise<string> {
  const url = authorizationUrl(home, { client_id: by.client_id, scope: 'openid email' })
  const agent = createUserAgent(home.url)
  const code = answerOf(await goThrough(agent, await agent.get(url))).get('code')!
  return (await exchangeAs(home, toClient(by), code)).tokens.id_token
}

const insecure = { [oauth4webapi.allowInsecureRequests]: true }
async function metadataOf(url: string): Promise<oauth4webapi.AuthorizationServer> {
  const issuer = new URL(url)
  return oauth4webapi.processDiscoveryResponse(issuer, await oauth4webapi.discoveryRequest(issuer, insecure))
}

async function vouched(
  more: Record<string, string> = {},
  by: { client_id: string; client_secret: string } = WEB,
  headers: Record<string, string> = {},
): Promise<Record<string, unknown>> {
  const form = {
    grant_type: EXCHANGE,
    requested_token_type: `${TYPE}id-jag`,
    subject_token: id_token,
    subject_token_type: `${TYPE}id_token`,
    audience: there,
    ...more,
  }
  const response = await home.post('/token', form, {
    ...basic(by.client_id, by.client_secret),
    ...headers,
  })
  return { ...((await response.json()) as object), status: response.status }
}

test('the app that one server vouches for acts at the other for the same person', async () => {
  const got = await vouched({ resource: SHELF, scope: 'read_shelf' })
  expect(got).toMatchObject({ status: 200, token_type: 'N_A', issued_token_type: `${TYPE}id-jag`, scope: 'read_shelf', expires_in: 300 })
  expect(got).not.toHaveProperty('refresh_token')
  const assertion = String(got['access_token'])
  expect(decodeProtectedHeader(assertion).typ).toBe('oauth-id-jag+jwt')
  expect(decodeJwt(assertion)).toMatchObject({
    iss: home.url, aud: there, client_id: 'app', resource: SHELF, scope: 'read_shelf', email: 'alice@example.com', sub: decodeJwt(id_token).sub,
  })
  expect(await home.server.oauth.verify(assertion)).toBeNull()

  // Who vouches says so, and who takes it; neither what it does not do.
  const vouching = await metadataOf(home.url)
  expect(vouching['identity_chaining_requested_token_types_supported']).toEqual([`${TYPE}id-jag`])
  expect(vouching).not.toHaveProperty('authorization_grant_profiles_supported')
  const as = await metadataOf(there)
  expect(as).not.toHaveProperty('identity_chaining_requested_token_types_supported')
  expect(as['authorization_grant_profiles_supported']).toEqual(['urn:ietf:params:oauth:grant-profile:id-jag'])
  const client = { client_id: APP.client_id }
  const auth = oauth4webapi.ClientSecretBasic(APP.client_secret)
  const response = await oauth4webapi.genericTokenEndpointRequest(as, client, auth, GRANT, { assertion }, insecure)
  const token = await oauth4webapi.processGenericTokenEndpointResponse(as, client, response)
  expect(token.scope).toBe('read_shelf')
  expect(decodeJwt(token.access_token)).toMatchObject({ iss: there, aud: SHELF, client_id: 'app' })
  // The other process knows that it was used.
  expect(await bring(two, APP, assertion)).toMatchObject({ status: 400, error: 'invalid_grant' })
}) // prettier-ignore

test('of twenty that show one ID-JAG at two processes at once, one gets a token', async () => {
  const assertion = String((await vouched())['access_token'])
  const all = await Promise.all(Array.from({ length: 20 }, async (_, at) => bring(at % 2 === 0 ? one : two, APP, assertion)))
  expect(all.filter(({ status }) => status === 200)).toHaveLength(1)
  expect(all.filter(({ error }) => error === 'invalid_grant')).toHaveLength(19)
}) // prettier-ignore

test('nobody is vouched for with an ID token of a client that was deleted, also where another has its name now', async () => {
  const { clients } = home.server.oauth
  const grant_types = ['authorization_code', 'refresh_token', EXCHANGE]
  const old = { ...WEB, client_id: 'old', grant_types, token_exchange: [{ ...rules[0]!, subject_clients: ['old'] }] }
  await clients.create(old)
  const by = { subject_token: await idTokenOf(old), subject_token_type: `${TYPE}id_token` }
  expect(await vouched(by, old)).toMatchObject({ status: 200 })
  await home.database.query(`update authorizations set created_at = created_at - interval '1 hour' where client_id = 'old'`)
  await clients.delete('old')
  await clients.create(old)
  expect(await vouched(by, old)).toMatchObject({ status: 400, error: 'invalid_request' })
}) // prettier-ignore

test('a refresh token vouches too, and stays as it is', async () => {
  const by = { subject_token: refresh_token, subject_token_type: `${TYPE}refresh_token` }
  expect(await vouched(by)).toMatchObject({ status: 200 })
  expect(await vouched(by)).toMatchObject({ status: 200 })
})

test.each([
  [
    'an access token',
    { subject_token: access_token, subject_token_type: `${TYPE}access_token` },
    'invalid_request',
  ],
  ['no good token', { subject_token: 'x' }, 'invalid_request'],
  ['another audience', { audience: 'https://other.example' }, 'invalid_target'],
  ['no audience', { audience: '' }, 'invalid_request'],
  ['another resource', { resource: 'https://other.example' }, 'invalid_target'],
  ['another scope', { scope: 'burn' }, 'invalid_scope'],
  [
    'somebody who acts',
    { actor_token: access_token, actor_token_type: `${TYPE}access_token` },
    'invalid_request',
  ],
  [
    'details that it does not say',
    { authorization_details: '[{"type":"chat"}]' },
    'invalid_authorization_details',
  ],
  ['an access token in its place', { requested_token_type: `${TYPE}access_token` }, 'invalid_request'],
])('nobody is vouched for with %s', async (_what, more, error) => {
  expect(await vouched(more)).toMatchObject({ status: 400, error })
})

test('an app that must show a key shows it for this too', async () => {
  const { clients } = home.server.oauth
  await clients.update('web', { dpop_bound_access_tokens: true })
  onTestFinished(async () => void (await clients.update('web', { dpop_bound_access_tokens: null })))
  expect(await vouched()).toMatchObject({ status: 400, error: 'invalid_dpop_proof' })
  const dpop = await prove(await createDpopKey(), { method: 'POST', url: `${home.url}/token` })
  expect(await vouched({}, WEB, { dpop })).toMatchObject({ status: 200, token_type: 'N_A' })
})

test('who is refused is in the audit log', async () => {
  await vouched({ audience: 'https://other.example' })
  const { audit } = home.server.oauth
  const refusals = async () => (await audit.list({ type: 'token.exchange_refused' })).events
  const refused = expect.objectContaining({ client: 'web', details: { error: 'invalid_target' } })
  await expect.poll(refusals).toContainEqual(refused)
})

test('an issuer that one process takes away is trusted nowhere two seconds later', async () => {
  const got = await bring(one, APP, String((await vouched())['access_token']))
  expect(got.status).toBe(200)
  await one.database.query(`delete from trusted_issuers`)
  await one.database.query(`insert into changes (id, kind, key) values (gen_random_uuid(), 'trusted_issuer', '${home.url}')`)
  for (const server of [one, two]) {
    await expect.poll(async () => (await bring(server, APP, String((await vouched())['access_token']))).status).toBe(400)
    const answer = await server.get('/userinfo', { authorization: `Bearer ${String(got['access_token'])}` })
    expect(answer.status).toBe(401)
  }
}) // prettier-ignore
