/** Tokens that are bound to a client's certificate (RFC 8705 §3): which are, where they are good, and who may have no others. */
import { decodeJwt } from 'jose'
import { describe, expect, test } from 'vitest'
import { asByteSequence, asPem, certify, jwkOf, type TestCertificate } from '../../../support/certificates.ts'
import { createClient, type TestClient } from '../../../support/clients.ts'
import { createDpopKey, prove } from '../../../support/dpop.ts'
import { requestsTo } from '../../../support/requests.ts'
import { startServer } from '../../../support/server.ts'
import { freePort } from '../../../support/settings.ts'
import { authorize, createPkce, REDIRECT_URI, SEED } from '../../../support/sign-in.ts'
import { isThere } from '../../../support/left-out.ts'

const VAULT = 'https://vault.example'
const [mine, thiefs] = await Promise.all([certify('/CN=app'), certify('/CN=app')])
const thumbprint = Buffer.from(mine.x509.fingerprint256.replaceAll(':', ''), 'hex').toString('base64url')
const settings = {
  CLIENT_CERTIFICATE_HEADER: 'Client-Cert',
  TRUSTED_PROXIES: '127.0.0.1',
  OIDC_INTROSPECTION_VALIDATE_AUDIENCE_SCOPE: false,
  OIDC_MTLS_ORIGIN: 'https://mtls.example',
}
const member = { tls_client_certificate_bound_access_tokens: true }
const server = await startServer(settings, {
  seed: { ...SEED, resources: [{ resource: VAULT, scopes: ['open_vault'], ...member }] },
  extend: (app) =>
    app.get('/books', { config: { scope: 'read_books' } }, async ({ token }) => ({ reader: token.clientId })),
})
const { clients, resources } = server.server.oauth
const metadata = { redirect_uri: REDIRECT_URI, scope: ['read_books', 'open_vault'] }
const bound = await createClient(server, { ...metadata, ...member })
const free = await createClient(server, metadata)
const publicApp = await createClient(server, { ...metadata, ...member, token_endpoint_auth_method: 'none' })

type Answer = Readonly<Record<string, unknown>> & { status: number }
type Form = Record<string, string>
const shown = (certificate?: TestCertificate): Record<string, string> =>
  certificate === undefined ? {} : { 'client-cert': asPem(certificate) }

async function ask(
  client: TestClient,
  form: Form,
  certificate?: TestCertificate,
  more: Form = {},
): Promise<Answer> {
  const isPublic = client === publicApp
  const named = isPublic ? { ...form, client_id: client.clientId } : form
  const headers = { ...(isPublic ? {} : client.basic), ...shown(certificate), ...more }
  const response = await server.post('/token', named, headers)
  return { ...((await response.json()) as object), status: response.status }
}

const getOwn = async (client: TestClient, certificate?: TestCertificate, scope = 'read_books') =>
  ask(client, { grant_type: 'client_credentials', scope }, certificate)
const cnfOf = ({ access_token }: Answer): unknown => decodeJwt(String(access_token))['cnf']
const use = async (path: string, token: unknown, certificate?: TestCertificate) => {
  const response = await server.get(path, { authorization: `Bearer ${String(token)}`, ...shown(certificate) })
  return { status: response.status, body: await response.text() }
}

async function signIn(client: TestClient, certificate?: TestCertificate): Promise<Answer> {
  const { verifier, challenge } = createPkce()
  const asked = { client_id: client.clientId, scope: 'openid read_books offline_access' }
  const pkce = { code_challenge: challenge, code_challenge_method: 'S256' }
  const code = (await authorize(server, { ...asked, ...pkce })).get('code')!
  const form = { grant_type: 'authorization_code', code, redirect_uri: REDIRECT_URI, code_verifier: verifier }
  return ask(client, form, certificate)
}

describe('a client that wants its tokens bound', () => {
  test('gets them bound to what it shows, and none without', async () => {
    const answer = await getOwn(bound, mine)
    expect(answer).toMatchObject({ status: 200, token_type: 'Bearer' })
    expect(cnfOf(answer)).toEqual({ 'x5t#S256': thumbprint })
    expect(await getOwn(bound)).toMatchObject({
      status: 400,
      error: 'invalid_request',
      error_description: 'the access token must be bound: the connection needs a client certificate',
    })
  })

  test('introspection says to which certificate', async () => {
    const { access_token } = await getOwn(bound, mine)
    const response = await server.post('/introspect', { token: String(access_token) }, bound.basic)
    expect(await response.json()).toMatchObject({ active: true, cnf: { 'x5t#S256': thumbprint } })
  })

  test.each(['jwt', 'opaque'] as const)('they are good with that certificate alone: %s', async (format) => {
    const client = await createClient(server, { ...metadata, ...member, access_token_format: format })
    const { access_token: own } = await getOwn(client, mine)
    const { access_token: users } = await signIn(client, mine)
    for (const [path, token] of [
      ['/books', own],
      ['/userinfo', users],
    ] as const) {
      expect((await use(path, token, mine)).status).toBe(200)
      const other = await use(path, token, thiefs)
      expect(other).toMatchObject({
        status: 401,
        body: expect.stringContaining('another certificate') as string,
      })
      const none = await use(path, token)
      expect(none).toMatchObject({ status: 401, body: expect.stringContaining('none was shown') as string })
    }
  })

  test('in whichever form the proxy hands it on', async () => {
    const { access_token } = await getOwn(bound, mine)
    const headers = { authorization: `Bearer ${String(access_token)}`, 'client-cert': asByteSequence(mine) }
    expect((await server.get('/books', headers)).status).toBe(200)
  })
})

describe('refresh tokens', () => {
  const refresh = async (client: TestClient, token: unknown, certificate?: TestCertificate) =>
    ask(client, { grant_type: 'refresh_token', refresh_token: String(token) }, certificate)

  test('of an app without a secret are good with its certificate alone', async () => {
    const { refresh_token: token } = await signIn(publicApp, mine)
    for (const certificate of [thiefs, undefined])
      expect(await refresh(publicApp, token, certificate)).toMatchObject({
        status: 400,
        error: 'invalid_grant',
      })
    const renewed = await refresh(publicApp, token, mine)
    expect(renewed.status).toBe(200)
    expect(cnfOf(renewed)).toEqual({ 'x5t#S256': thumbprint })
  })

  test('of an app without a secret stay free of what one resource demands', async () => {
    const plain = await createClient(server, { ...metadata, token_endpoint_auth_method: 'none' })
    const askAs = async (form: Form, certificate?: TestCertificate): Promise<Answer> => {
      const response = await server.post('/token', { ...form, client_id: plain.clientId }, shown(certificate))
      return { ...((await response.json()) as object), status: response.status }
    }
    const { verifier, challenge } = createPkce()
    const pkce = { code_challenge: challenge, code_challenge_method: 'S256' }
    const asked = { client_id: plain.clientId, scope: 'openid read_books open_vault offline_access', ...pkce }
    const code = (await authorize(server, asked)).get('code')!
    const form = {
      grant_type: 'authorization_code',
      code,
      redirect_uri: REDIRECT_URI,
      code_verifier: verifier,
    }
    let tokens = await askAs({ ...form, resource: server.url })
    const refreshFor = async (resource: string, certificate?: TestCertificate) =>
      askAs(
        { grant_type: 'refresh_token', refresh_token: String(tokens['refresh_token']), resource },
        certificate,
      )
    for (const [resource, certificate] of [
      [VAULT, mine],
      [server.url, undefined],
      [VAULT, thiefs],
    ] as const) {
      tokens = await refreshFor(resource, certificate)
      expect(tokens.status).toBe(200)
      expect(cnfOf(tokens) === undefined).toBe(certificate === undefined)
    }
  })

  test('of an app that proves who it is go on with another certificate', async () => {
    const { refresh_token: token } = await signIn(bound, mine)
    const renewed = await refresh(bound, token, thiefs)
    expect(renewed.status).toBe(200)
    expect(cnfOf(renewed)).not.toEqual({ 'x5t#S256': thumbprint })
  })
})

describe('a certificate that is there without being meant', () => {
  test('binds nothing', async () => {
    const answer = await getOwn(free, mine)
    expect(cnfOf(answer)).toBeUndefined()
    expect((await use('/books', answer['access_token'])).status).toBe(200)
    expect((await use('/books', answer['access_token'], mine)).status).toBe(200)
    const users = await signIn(free, mine)
    expect((await use('/userinfo', users['access_token'])).status).toBe(200)
  })

  test.runIf(isThere('latchkey-token-exchange'))(
    'binds what is exchanged for a token that is bound to it',
    async () => {
      const type = 'urn:ietf:params:oauth:grant-type:token-exchange'
      const desk = await createClient(server, {
        grant_types: [type],
        scope: ['read_books'],
        token_exchange: [{ subject_clients: [bound.clientId, free.clientId], resources: [server.url] }],
      })
      const exchange = async ({ access_token: token }: Answer) => {
        const subject_token_type = 'urn:ietf:params:oauth:token-type:access_token'
        return ask(desk, { grant_type: type, subject_token: String(token), subject_token_type }, mine)
      }
      for (const had of [await getOwn(bound, mine), await signIn(bound, mine)])
        expect(cnfOf(await exchange(had))).toEqual({ 'x5t#S256': thumbprint })
      expect(cnfOf(await exchange(await getOwn(free, mine)))).toBeUndefined()
    },
  )

  test('binds where the API asks for that', async () => {
    expect(cnfOf(await getOwn(free, mine, 'open_vault'))).toEqual({ 'x5t#S256': thumbprint })
    expect(await getOwn(free, undefined, 'open_vault')).toMatchObject({
      status: 400,
      error: 'invalid_request',
    })
    await resources.saveResource({ resource: VAULT, tls_client_certificate_bound_access_tokens: null })
    await expect.poll(async () => (await getOwn(free, undefined, 'open_vault')).status).toBe(200)
    await resources.saveResource({ resource: VAULT, ...member })
    expect(await resources.findResource(VAULT)).toEqual({ resource: VAULT, ...member })
    await expect(
      resources.saveResource({ resource: VAULT, tls_client_certificate_bound_access_tokens: 'yes' as never }),
    ).rejects.toThrow('tls_client_certificate_bound_access_tokens must be true or false')
  })

  test('leaves what DPoP binds to its key, and stands beside it where it is asked for', async () => {
    const key = await createDpopKey()
    const form = { grant_type: 'client_credentials', scope: 'read_books' }
    const proof = async () => ({ dpop: await prove(key, { method: 'POST', url: `${server.url}/token` }) })
    const one = await ask(free, form, mine, await proof())
    expect([one['token_type'], cnfOf(one)]).toEqual(['DPoP', { jkt: key.thumbprint }])
    const two = await ask(bound, form, mine, await proof())
    expect(cnfOf(two)).toEqual({ jkt: key.thumbprint, 'x5t#S256': thumbprint })
    // At the origin of mtls_endpoint_aliases too.
    const aliased = { dpop: await prove(key, { method: 'POST', url: 'https://mtls.example/token' }) }
    expect((await ask(bound, form, mine, aliased)).status).toBe(200)
  })
})

test('a client that proves who it is by its certificate has its tokens bound where it asks for that', async () => {
  const client_id = 'self-signed'
  const method = { token_endpoint_auth_method: 'self_signed_tls_client_auth', jwks: { keys: [jwkOf(mine)] } }
  await clients.create({
    client_id,
    grant_types: ['client_credentials'],
    scope: ['read_books'],
    ...method,
    ...member,
  })
  const response = await server.post('/token', { grant_type: 'client_credentials', client_id }, shown(mine))
  expect(cnfOf({ ...((await response.json()) as object), status: 200 })).toEqual({ 'x5t#S256': thumbprint })
})

test('the metadata of the server and of its own API say so', async () => {
  for (const path of ['/.well-known/openid-configuration', '/.well-known/oauth-protected-resource'])
    expect(await (await server.get(path)).json()).toMatchObject(member)
})

test('left out, or without certificates, nobody gets what must be bound, and nobody uses what is', async () => {
  const { access_token: token } = await getOwn(bound, mine)
  for (const without of [{ WITHOUT: 'latchkey-mutual-tls' }, { CLIENT_CERTIFICATE_HEADER: undefined }]) {
    const PORT = await freePort()
    await startServer({ ...server.settings, PORT, ...without }, { database: server.database })
    const at = requestsTo(`http://127.0.0.1:${PORT}`)
    const form = { grant_type: 'client_credentials', scope: 'read_books' }
    const response = await at.post('/token', form, { ...bound.basic, ...shown(mine) })
    expect([response.status, await response.json()]).toEqual([
      400,
      {
        error: 'unauthorized_client',
        error_description:
          'the access token must be bound (tls_client_certificate_bound_access_tokens), which is not served here',
      },
    ])
    const used = await at.get('/userinfo', { authorization: `Bearer ${String(token)}`, ...shown(mine) })
    expect(used.status).toBe(401)
  }
})
