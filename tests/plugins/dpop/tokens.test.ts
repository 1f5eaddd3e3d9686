/** What DPoP binds: tokens of every format, codes from the start, and who may have nothing that is bound to no key. */
import { decodeJwt } from 'jose'
import { describe, expect, test } from 'vitest'
import type { SenderConstraint } from '../../../src/doors/sender-constraint.ts'
import { createClient, getToken, introspect, requestToken, type TestClient } from '../../support/clients.ts'
import { createDpopKey, type DpopKey, prove } from '../../support/dpop.ts'
import { requestsTo } from '../../support/requests.ts'
import { startServer } from '../../support/server.ts'
import { freePort } from '../../support/settings.ts'
import { authorizationUrl, authorize, createPkce, REDIRECT_URI, SEED } from '../../support/sign-in.ts'

const SAFE = 'https://safe.example'
const server = await startServer(
  { OIDC_INTROSPECTION_VALIDATE_AUDIENCE_SCOPE: false },
  {
    seed: {
      ...SEED,
      resources: [
        { resource: SAFE, scopes: ['open_safe'], dpop_bound_access_tokens: true },
        { resource: 'https://shed.example', scopes: ['open_shed'], dpop_bound_access_tokens: false },
      ],
    },
  },
)
const isPublic = { token_endpoint_auth_method: 'none' }
const metadata = { redirect_uri: REDIRECT_URI, scope: ['read_books'] }
const web = await createClient(server, metadata)
const opaqueWeb = await createClient(server, { ...metadata, access_token_format: 'opaque' })
const app = await createClient(server, { ...metadata, ...isPublic })
const [mine, thiefs] = [await createDpopKey(), await createDpopKey()]

type Answer = Readonly<Record<string, unknown>> & { status: number }
type Form = Record<string, string>

async function ask(client: TestClient, form: Form, key?: DpopKey): Promise<Answer> {
  const dpop = key && { dpop: await prove(key, { method: 'POST', url: `${server.url}/token` }) }
  const authentication = client === app ? {} : client.basic
  const named = client === app ? { ...form, client_id: app.clientId } : form
  const response = await server.post('/token', named, { ...authentication, ...dpop })
  return { ...((await response.json()) as object), status: response.status }
}

const getOwn = async (client: TestClient, key?: DpopKey, more: Form = {}) =>
  ask(client, { grant_type: 'client_credentials', ...more }, key)

/** The code flow as alice; `parameters` are the request's. Exchanges as often as it is called. */
async function begin(client: TestClient, parameters: Form = {}) {
  const { verifier, challenge } = createPkce()
  const asked = { client_id: client.clientId, scope: 'openid read_books', code_challenge: challenge }
  const answer = await authorize(server, { ...asked, code_challenge_method: 'S256', ...parameters })
  const form = {
    grant_type: 'authorization_code',
    code: answer.get('code')!,
    redirect_uri: REDIRECT_URI,
    code_verifier: verifier,
  }
  return async (key?: DpopKey): Promise<Answer> => ask(client, form, key)
}

test('the metadata says which algorithms, in every document', async () => {
  for (const name of ['openid-configuration', 'oauth-authorization-server', 'oauth-protected-resource'])
    expect(await (await server.get(`/.well-known/${name}`)).json()).toMatchObject({
      dpop_signing_alg_values_supported: expect.arrayContaining(['ES256', 'Ed25519', 'PS256']),
    })
})

test.each([
  ['jwt', {}],
  ['opaque', { access_token_format: 'opaque' }],
])('token_type, cnf and introspection of a token (%s)', async (_format, more) => {
  const service = await createClient(server, { scope: ['read_books'], ...more })
  const bound = await getOwn(service, mine)
  expect(bound).toMatchObject({ status: 200, token_type: 'DPoP' })
  expect(bound).not.toHaveProperty('refresh_token')
  const told = await introspect(server, service, String(bound['access_token']))
  expect(told).toMatchObject({ active: true, token_type: 'DPoP', cnf: { jkt: mine.thumbprint } })
  const plain = await getOwn(service)
  expect(plain).toMatchObject({ status: 200, token_type: 'Bearer' })
  expect(await introspect(server, service, String(plain['access_token']))).not.toHaveProperty('cnf')
})

test.each([
  ['web app', web],
  ['web app with opaque tokens', opaqueWeb],
  ['app without a secret', app],
])('a %s: code, userinfo by GET and POST, and refresh by one token that stays', async (_what, client) => {
  const tokens = await (await begin(client))(mine)
  expect(tokens).toMatchObject({ status: 200, token_type: 'DPoP', refresh_token: expect.any(String) })
  const present = async (method: 'GET' | 'POST', token: unknown, key: DpopKey): Promise<number> => {
    const dpop = await prove(key, { method, url: `${server.url}/userinfo`, token: String(token) })
    const headers = { authorization: `DPoP ${String(token)}`, dpop }
    return (await server.request('/userinfo', { method, headers })).status
  }
  for (const method of ['GET', 'POST'] as const) {
    expect(await present(method, tokens['access_token'], mine)).toBe(200)
    expect(await present(method, tokens['access_token'], thiefs)).toBe(401)
  }
  const form = { grant_type: 'refresh_token', refresh_token: String(tokens['refresh_token']) }
  for (let times = 0; times < 3; times++) {
    const renewed = await ask(client, form, mine)
    expect(renewed).toMatchObject({ status: 200, token_type: 'DPoP', refresh_token: form.refresh_token })
    expect(await present('GET', renewed['access_token'], mine)).toBe(200)
  }
})

test('the refresh token of a public client is bound, that of others goes with their credentials', async () => {
  const ofApp = await (await begin(app))(mine)
  const ofWeb = await (await begin(web))(mine)
  const refresh = async (client: TestClient, { refresh_token: token }: Answer, key?: DpopKey) =>
    ask(client, { grant_type: 'refresh_token', refresh_token: String(token) }, key)
  for (const key of [undefined, thiefs])
    expect(await refresh(app, ofApp, key)).toMatchObject({ status: 400, error: 'invalid_grant' })
  expect(await refresh(app, ofApp, mine)).toMatchObject({ status: 200 })
  // RFC 9449 §5: it may lose its key without losing its users.
  const other = await refresh(web, ofWeb, thiefs)
  expect(other).toMatchObject({ status: 200, token_type: 'DPoP', refresh_token: ofWeb['refresh_token'] })
  expect(decodeJwt(String(other['access_token']))['cnf']).toEqual({ jkt: thiefs.thumbprint })
})

test('a refused proof uses up nothing', async () => {
  const exchange = await begin(web)
  const wrong = { ...thiefs, jwk: mine.jwk }
  expect(await exchange(wrong)).toMatchObject({ status: 400, error: 'invalid_dpop_proof' })
  expect(await exchange(mine)).toMatchObject({ status: 200, token_type: 'DPoP' })
})

describe('dpop_jkt', () => {
  test.each([
    ['a public client', app],
    ['a client that proves who it is', web],
  ])('binds the code of %s from the start', async (_what, client) => {
    const exchange = await begin(client, { dpop_jkt: mine.thumbprint })
    for (const key of [undefined, thiefs])
      expect(await exchange(key)).toMatchObject({ status: 400, error: 'invalid_grant' })
    const tokens = await exchange(mine)
    expect(tokens).toMatchObject({ status: 200, token_type: 'DPoP' })
    // It was for the code.
    const form = { grant_type: 'refresh_token', refresh_token: String(tokens['refresh_token']) }
    expect((await ask(client, form, mine)).status).toBe(200)
  })

  test.each(['', 'x', 'ü'.repeat(43), `${mine.thumbprint}=`, 'A'.repeat(44)])(
    '%s is no thumbprint',
    async (dpop_jkt) => {
      const url = authorizationUrl(server, { client_id: web.clientId, dpop_jkt })
      const response = await server.request(url.slice(server.url.length), { redirect: 'manual' })
      const location = response.headers.get('location') ?? ''
      // An empty parameter is none (RFC 6749 §3.1).
      expect(location.includes('error=invalid_request')).toBe(dpop_jkt !== '')
    },
  )
})

describe('a request that a client sends by itself (RFC 9449 §10.1)', () => {
  const { oauth } = server.server
  const asked = {
    client_id: web.clientId,
    redirect_uri: REDIRECT_URI,
    response_type: 'code',
    scope: 'openid',
  }

  /** As an endpoint for pushed requests has it. */
  async function push(wire: Form, key?: DpopKey) {
    const client = (await oauth.findClient(web.clientId))!
    const dpop = key && (await prove(key, { method: 'POST', url: `${server.url}/par` }))
    const request = { method: 'POST', originalUrl: '/par', headers: { dpop } }
    const call = { request, reply: { header() {} }, client, wire } as never
    const shown = await oauth.parametersShownBy(call)
    return oauth.parseRequest(wire, client, { shown })
  }

  test('has the key that it shows for dpop_jkt', async () => {
    expect((await push(asked, mine)).parameters).toMatchObject({ dpop_jkt: mine.thumbprint })
    expect((await push({ ...asked, dpop_jkt: mine.thumbprint }, mine)).parameters).toMatchObject({
      dpop_jkt: mine.thumbprint,
    })
    expect((await push({ ...asked, dpop_jkt: mine.thumbprint })).parameters).toMatchObject({
      dpop_jkt: mine.thumbprint,
    })
    expect((await push(asked)).parameters).not.toHaveProperty('dpop_jkt')
  })

  test('names no other, and shows what is good', async () => {
    await expect(push({ ...asked, dpop_jkt: thiefs.thumbprint }, mine)).rejects.toMatchObject({
      code: 'invalid_request',
    })
    await expect(push(asked, { ...thiefs, jwk: mine.jwk })).rejects.toMatchObject({
      code: 'invalid_dpop_proof',
      status: 400,
    })
  })
})

describe('dpop_bound_access_tokens', () => {
  const wanted = { dpop_bound_access_tokens: true }
  const refused = { status: 400, error: 'invalid_dpop_proof' }

  test('of a client: it gets nothing without a proof', async () => {
    const strict = await createClient(server, { ...metadata, ...wanted })
    expect(await getOwn(strict)).toMatchObject(refused)
    expect(await getOwn(strict, mine)).toMatchObject({ status: 200, token_type: 'DPoP' })
    const exchange = await begin(strict)
    expect(await exchange()).toMatchObject(refused)
    const tokens = await exchange(mine)
    expect(tokens).toMatchObject({ status: 200, token_type: 'DPoP' })
    const form = { grant_type: 'refresh_token', refresh_token: String(tokens['refresh_token']) }
    expect(await ask(strict, form)).toMatchObject(refused)
    expect(await ask(strict, form, mine)).toMatchObject({ status: 200, token_type: 'DPoP' })
    await server.server.oauth.clients.update(strict.clientId, { dpop_bound_access_tokens: false })
    expect(await getOwn(strict)).toMatchObject({ status: 200, token_type: 'Bearer' })
  })

  test('of a resource: for it, and for it alone', async () => {
    const client = await createClient(server, { scope: ['read_books', 'open_safe', 'open_shed'] })
    for (const scope of ['open_safe', 'open_safe open_shed', ''])
      expect(await getOwn(client, undefined, scope === '' ? {} : { scope })).toMatchObject(refused)
    expect(await getOwn(client, undefined, { resource: SAFE })).toMatchObject(refused)
    for (const scope of ['open_shed', 'read_books', 'open_shed read_books'])
      expect(await getOwn(client, undefined, { scope })).toMatchObject({ status: 200, token_type: 'Bearer' })
    expect(await getOwn(client, mine, { scope: 'open_safe' })).toMatchObject({
      status: 200,
      token_type: 'DPoP',
    })
  })

  test('must be true or false', async () => {
    const { clients, resources } = server.server.oauth
    await expect(clients.create({ ...metadata, dpop_bound_access_tokens: 'yes' })).rejects.toMatchObject({
      code: 'invalid_client_metadata',
    })
    const resource = { resource: SAFE, dpop_bound_access_tokens: 'yes' }
    await expect(resources.saveResource(resource as never)).rejects.toMatchObject({
      code: 'invalid_client_metadata',
      message: 'dpop_bound_access_tokens must be true or false',
    })
    expect(await resources.findResource(SAFE)).toEqual({ resource: SAFE, dpop_bound_access_tokens: true })
  })

  test('stays where the plugin is left out: the server starts, and nothing unbound is given', async () => {
    const strict = await createClient(server, { scope: ['read_books'], ...wanted })
    const free = await createClient(server, { scope: ['read_books', 'open_safe'] })
    const bound = await (await begin(app))(mine)
    const PORT = await freePort()
    const settings = { ...server.settings, PORT, WITHOUT: 'latchkey-dpop' }
    await startServer(settings, { database: server.database })
    const without = requestsTo(`http://127.0.0.1:${PORT}`)
    const document = (await (await without.get('/.well-known/openid-configuration')).json()) as object
    expect(document).not.toHaveProperty('dpop_signing_alg_values_supported')
    const dpop = await prove(mine, { method: 'POST', url: `${server.url}/token` })
    const form = { grant_type: 'client_credentials' }
    for (const headers of [{}, { dpop }]) {
      const response = await without.post('/token', form, { ...strict.basic, ...headers })
      expect([response.status, await response.json()]).toEqual([
        400,
        {
          error: 'unauthorized_client',
          error_description:
            'the access token must be bound (dpop_bound_access_tokens), which is not served here',
        },
      ])
    }
    expect((await requestToken(without, free, { scope: 'open_safe' })).status).toBe(400)
    expect((await getToken(without, free, { scope: 'read_books' })).token_type).toBe('Bearer')
    const token = String(bound['access_token'])
    for (const scheme of ['DPoP', 'Bearer'])
      expect((await without.get('/userinfo', { authorization: `${scheme} ${token}` })).status).toBe(401)
    const challenge = (await without.get('/userinfo')).headers.get('www-authenticate')
    expect(challenge).not.toContain('DPoP')
    const refresh = { grant_type: 'refresh_token', refresh_token: String(bound['refresh_token']) }
    expect(
      await (await without.post('/token', { ...refresh, client_id: app.clientId })).json(),
    ).toMatchObject({
      error: 'invalid_grant',
    })
  })
})

test('beside another constraint whose tokens come as bearer tokens, both are asked for', async () => {
  const seal: SenderConstraint = {
    scheme: 'Bearer',
    confirmation: 'seal',
    bind: async ({ request: { headers } }) => headers['x-seal'] as string | undefined,
    async verify({ headers }, { confirmation }) {
      if (headers['x-seal'] !== confirmation) throw new Error('another seal')
    },
  }
  const both = await startServer({}, { extend: ({ oauth }) => oauth.add('senderConstraint', seal) })
  const client = await createClient(both, { scope: ['read'] })
  const dpop = await prove(mine, { method: 'POST', url: `${both.url}/token` })
  const headers = { ...client.basic, dpop, 'x-seal': 'wax' }
  const response = await both.post('/token', { grant_type: 'client_credentials' }, headers)
  const body = (await response.json()) as Record<string, string>
  expect(body).toMatchObject({ token_type: 'DPoP' })
  expect(decodeJwt(body['access_token']!)['cnf']).toEqual({ jkt: mine.thumbprint, seal: 'wax' })
})
