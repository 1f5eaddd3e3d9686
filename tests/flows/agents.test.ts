/**
 * What acts for people or for itself, by `openid-client` and `oauth4webapi`, at two processes of one database: devices, exchanged tokens, JWTs of
 * trusted issuers, and approvals that are asked for elsewhere; each is good once over both.
 * @needs latchkey-device-code, latchkey-token-exchange, latchkey-jwt-bearer, latchkey-federated-jwt, latchkey-ciba
 */
import { decodeJwt } from 'jose'
import * as oauth4webapi from 'oauth4webapi'
import * as openid from 'openid-client'
import { expect, test } from 'vitest'
import { spawnBeside } from '../support/beside.ts'
import { approve, ask, CALL_CENTRE, CIBA_SEED, CIBA_SETTINGS, poll as pollApproval } from '../support/ciba.ts'
import { ASSERTION_TYPE } from '../support/client-assertions.ts'
import { allow, ask as askByDevice, poll as pollByDevice, TV } from '../support/device.ts'
import { ACCESS_TOKEN, DESK, exchange, GRANT as EXCHANGE, SHELF } from '../support/exchange.ts'
import { spawnServer } from '../support/process.ts'
import { startReceiver } from '../support/receiver.ts'
import type { Requests } from '../support/requests.ts'
import { ALICE, BOB, getTokens } from '../support/sign-in.ts'
import { APP, bring, createAssertionKey, GRANT as BEARER, said } from '../support/trusted-issuer.ts'
import { until } from '../support/until.ts'
import { createUserAgent } from '../support/user-agent.ts'

const JWT = 'urn:ietf:params:oauth:token-type:jwt'
const ISSUER = 'https://login.example'
const key = await createAssertionKey('one')
const receiver = await startReceiver((_request, response) => response.writeHead(204).end())
const origin = `http://127.0.0.1:${receiver.port}`
const PINGED = {
  ...CALL_CENTRE,
  client_id: 'pinged',
  backchannel_token_delivery_mode: 'ping',
  backchannel_client_notification_endpoint: `${origin}/ciba`,
}
const WORKLOAD = {
  client_id: 'workload',
  token_endpoint_auth_method: 'federated_jwt',
  federated_identity: { issuer: ISSUER, subject: 'alice' },
  grant_types: ['client_credentials'],
  scope: ['read_books'],
}
const rules = [
  { subject_clients: ['web'], subject_issuers: [ISSUER], resources: [SHELF], scopes: ['read_shelf'] },
]
const one = await spawnServer(
  { ...CIBA_SETTINGS, UNSAFE_OUTBOUND_ORIGINS: origin },
  {
    seed: {
      ...CIBA_SEED,
      clients: [...CIBA_SEED.clients, PINGED, TV, APP, WORKLOAD, { ...DESK, token_exchange: rules }],
      resources: [{ resource: SHELF, scopes: ['read_shelf'] }],
      trusted_issuers: [
        { issuer: ISSUER, jwks: { keys: [key.jwk] }, subject_claim: 'email', scopes: ['read_books', 'read_shelf'] },
      ],
    },
  },
) // prettier-ignore
const two = await spawnBeside(one.settings, one.database)
const { access_token: subject_token } = await getTokens(one, { scope: 'openid read_books' })
const speak = async (header: object = {}, claims: object = {}): Promise<string> =>
  said(key, ISSUER, one.url, claims, header)

const insecure = { [oauth4webapi.allowInsecureRequests]: true }
const url = new URL(one.url)
const as = await oauth4webapi.processDiscoveryResponse(
  url,
  await oauth4webapi.discoveryRequest(url, insecure),
)
const configOf = async ({
  client_id,
  client_secret,
}: {
  client_id: string
  client_secret: string
}): Promise<openid.Configuration> =>
  openid.discovery(url, client_id, undefined, openid.ClientSecretBasic(client_secret), {
    execute: [openid.allowInsecureRequests],
  })
const exchanged = { subject_token, subject_token_type: ACCESS_TOKEN, resource: SHELF }

test('openid-client exchanges a token, and brings a JWT of a trusted issuer', async () => {
  const desk = await configOf(DESK)
  const got = await openid.genericGrantRequest(desk, EXCHANGE, exchanged)
  expect(got).toMatchObject({ issued_token_type: ACCESS_TOKEN, scope: 'read_shelf' })
  expect(decodeJwt(got.access_token)).toMatchObject({ aud: SHELF, act: { sub: 'desk' } })
  const foreign = { subject_token: await speak(), subject_token_type: JWT }
  const ofIssuer = await openid.genericGrantRequest(desk, EXCHANGE, foreign)
  expect(decodeJwt(ofIssuer.access_token).sub).toBe(decodeJwt(subject_token).sub)
  await expect(openid.genericGrantRequest(desk, EXCHANGE, foreign)).rejects.toMatchObject({
    error: 'invalid_request',
  })

  const app = await configOf(APP)
  const assertion = await speak()
  const brought = await openid.genericGrantRequest(app, BEARER, { assertion })
  expect(brought.scope).toBe('read_books read_shelf')
  expect(decodeJwt(brought.access_token).sub).toBe(decodeJwt(subject_token).sub)
  await expect(openid.genericGrantRequest(app, BEARER, { assertion })).rejects.toMatchObject({
    error: 'invalid_grant',
  })
})

test('openid-client is pinged, and fetches the tokens', async () => {
  const config = await configOf(PINGED)
  const { auth_req_id } = await openid.initiateBackchannelAuthentication(config, {
    scope: 'openid',
    login_hint: 'bob',
    client_notification_token: 'a-notification-token',
  })
  await approve(one, { auth_req_id }, createUserAgent(one.url), BOB)
  await until(() => {
    if (!receiver.received.some(({ body }) => body.includes(auth_req_id))) throw new Error('no ping yet')
  })
  const tokens = await openid.genericGrantRequest(config, 'urn:openid:params:grant-type:ciba', {
    auth_req_id,
  })
  expect(tokens.claims()).toMatchObject({ aud: 'pinged' })
})

test('oauth4webapi: a device asks, a person allows, the device has its tokens', async () => {
  const client = { client_id: TV.client_id }
  const none = oauth4webapi.None()
  const response = await oauth4webapi.deviceAuthorizationRequest(as, client, none, { scope: 'openid read_books' }, insecure)
  const asked = await oauth4webapi.processDeviceAuthorizationResponse(as, client, response)
  const fetchTokens = async () => {
    const answer = await oauth4webapi.deviceCodeGrantRequest(as, client, none, asked.device_code, insecure)
    return oauth4webapi.processDeviceCodeResponse(as, client, answer)
  }
  await allow(one, asked)
  const tokens = await fetchTokens()
  expect(tokens).toMatchObject({ scope: 'openid read_books' })
  expect(oauth4webapi.getValidatedIdTokenClaims(tokens)).toMatchObject({ aud: 'tv' })
  await expect(fetchTokens()).rejects.toMatchObject({ error: 'invalid_grant' })
}) // prettier-ignore

test('oauth4webapi asks for an approval, and polls', async () => {
  const client = { client_id: CALL_CENTRE.client_id }
  const proof = oauth4webapi.ClientSecretBasic(CALL_CENTRE.client_secret)
  const form = { scope: 'openid', login_hint: ALICE.username }
  const response = await oauth4webapi.backchannelAuthenticationRequest(as, client, proof, form, insecure)
  const { auth_req_id } = await oauth4webapi.processBackchannelAuthenticationResponse(as, client, response)
  await approve(one, { auth_req_id })
  const answer = await oauth4webapi.backchannelAuthenticationGrantRequest(as, client, proof, auth_req_id, insecure)
  const tokens = await oauth4webapi.processBackchannelAuthenticationGrantResponse(as, client, answer)
  expect(oauth4webapi.getValidatedIdTokenClaims(tokens)).toMatchObject({ aud: 'call-centre' })
}) // prettier-ignore

/** By what is good once: made anew, it says how it is shown. */
const KINDS: Readonly<Record<string, () => Promise<(at: Requests) => Promise<{ status: number }>>>> = {
  async device_code() {
    const asked = await askByDevice(one)
    await allow(one, asked)
    return async (at) => pollByDevice(at, asked)
  },
  async auth_req_id() {
    const asked = await ask(one)
    await approve(one, asked)
    return async (at) => pollApproval(at, asked)
  },
  async 'an assertion of a trusted issuer'() {
    const assertion = await speak()
    return async (at) => bring(at, APP, assertion)
  },
  async 'an ID-JAG'() {
    const assertion = await speak({ typ: 'oauth-id-jag+jwt' }, { client_id: 'app' })
    return async (at) => bring(at, APP, assertion)
  },
  async 'a JWT that is exchanged'() {
    const jwt = await speak()
    return async (at) => exchange(at, DESK, jwt, { subject_token_type: JWT })
  },
  async 'the token of a workload'() {
    const client_assertion = await speak()
    const form = { grant_type: 'client_credentials', client_id: 'workload', client_assertion, client_assertion_type: ASSERTION_TYPE }
    let tries = 0
    // From elsewhere each time: whoever fails so often is asked to wait.
    return async (at) => at.post('/token', form, { 'x-forwarded-for': `198.51.100.${++tries}` })
  },
} // prettier-ignore

test.each(Object.entries(KINDS))(
  '%s is good once, of 50 uses at once at two processes',
  async (_kind, make) => {
    const show = await make()
    const all = await Promise.all(Array.from({ length: 50 }, async (_, at) => show(at % 2 === 0 ? one : two)))
    expect(all.filter(({ status }) => status === 200)).toHaveLength(1)
    expect(all.filter(({ status }) => status >= 500)).toEqual([])
    for (const at of [one, two]) expect((await show(at)).status).not.toBe(200)
  },
)
