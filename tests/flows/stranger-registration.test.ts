/**
 * Dynamic registration and its management (RFC 7591, RFC 7592) as people write it who know nothing of this checkout, judged by
 * `openid-client` and `oauth4webapi` at two processes of one server.
 */
import { join } from 'node:path'
import * as oauth4webapi from 'oauth4webapi'
import * as openidClient from 'openid-client'
import { expect, test } from 'vitest'
import { spawnBeside } from '../support/beside.ts'
import { compile, installStranger, pack } from '../support/packages.ts'
import { runCommand, spawnServer } from '../support/process.ts'
import { basic, bearer, type Requests } from '../support/requests.ts'
import { authorizationUrl, authorize, goThrough, REDIRECT_URI, SEED } from '../support/sign-in.ts'
import { createUserAgent } from '../support/user-agent.ts'

const INITIAL = 'initial-access-token-of-the-operator'
const METADATA = { client_name: 'Photo Prints', redirect_uris: [REDIRECT_URI] }
const insecure = { [oauth4webapi.allowInsecureRequests]: true }

const folder = await installStranger('registration', 'latchkey', await pack('latchkey'), ['@types/node'])
const compiling = compile(folder)
compiling.catch(() => {})
const PLUGINS = join(folder, 'registration.ts')
const given = { PLUGINS, REGISTRATION_TOKEN: INITIAL, REGISTRATION_SCOPES: 'read_books' }
const one = await spawnServer(given, { seed: SEED })
const two = await spawnBeside(one.settings, one.database)
const issuer = new URL(one.url)
const as = await oauth4webapi.processDiscoveryResponse(
  issuer,
  await oauth4webapi.discoveryRequest(issuer, insecure),
)

interface Registered extends Record<string, unknown> {
  client_id: string
  client_id_issued_at: number
  client_secret: string
  registration_client_uri: string
  registration_access_token: string
}

async function send(
  server: Requests,
  method: string,
  path: string,
  token?: string,
  body?: object,
): Promise<Response> {
  const headers = {
    ...(token === undefined ? {} : bearer(token)),
    ...(body === undefined ? {} : { 'content-type': 'application/json' }),
  }
  return server.request(path, {
    method,
    headers,
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  })
}

async function register(metadata: object = {}, server: Requests = one): Promise<Registered> {
  const response = await send(server, 'POST', '/register', INITIAL, { ...METADATA, ...metadata })
  expect(response.status).toBe(201)
  return (await response.json()) as Registered
}

const pathOf = ({ client_id: id }: Registered): string => `/register/${id}`
const tokenOf = ({ registration_access_token: token }: Registered): string => token

/** At either process, with the client's own token unless another is given. */
async function manage(
  method: string,
  client: Registered,
  body?: object,
  token = tokenOf(client),
  server: Requests = two,
) {
  const response = await send(server, method, pathOf(client), token, body)
  const text = await response.text()
  return {
    status: response.status,
    headers: response.headers,
    body: (text === '' ? {} : JSON.parse(text)) as Registered,
  }
}

async function exchangeAs(
  { client_id: id, client_secret: secret }: Registered,
  code: string,
  server: Requests = two,
) {
  const form = { grant_type: 'authorization_code', code, redirect_uri: REDIRECT_URI }
  return server.post('/token', form, basic(id, secret))
}

async function getTokens(client: Registered): Promise<{ access_token: string; refresh_token: string }> {
  const answer = await authorize(one, {
    client_id: client.client_id,
    scope: 'openid offline_access',
    prompt: 'consent',
  })
  const response = await exchangeAs(client, answer.get('code')!)
  expect(response.status).toBe(200)
  return (await response.json()) as { access_token: string; refresh_token: string }
}

test('the stranger compiles against the package', async () => {
  await compiling
})

test('openid-client registers, and signs its user in', async () => {
  const config = await openidClient.dynamicClientRegistration(new URL(one.url), METADATA, undefined, {
    initialAccessToken: INITIAL,
    execute: [openidClient.allowInsecureRequests],
  })
  const pkceCodeVerifier = openidClient.randomPKCECodeVerifier()
  const [state, nonce] = [openidClient.randomState(), openidClient.randomNonce()]
  const url = openidClient.buildAuthorizationUrl(config, {
    redirect_uri: REDIRECT_URI,
    scope: 'openid email',
    state,
    nonce,
    code_challenge: await openidClient.calculatePKCECodeChallenge(pkceCodeVerifier),
    code_challenge_method: 'S256',
  })
  const agent = createUserAgent(one.url)
  const page = await goThrough(agent, await agent.get(url))
  const checks = { pkceCodeVerifier, expectedState: state, expectedNonce: nonce }
  const tokens = await openidClient.authorizationCodeGrant(
    config,
    new URL(page.headers.get('location')!),
    checks,
  )
  expect(tokens.scope).toBe('openid email')
  expect(tokens.claims()?.aud).toBe(config.clientMetadata().client_id)
})

test('oauth4webapi finds the endpoint and reads what it is told: all that is registered', async () => {
  expect(as.registration_endpoint).toBe(`${one.url}/register`)
  const metadata = { ...METADATA, logo_uri: 'https://app.example/logo.png', unknown_member: 'ignored' }
  const options = { ...insecure, initialAccessToken: INITIAL }
  const response = await oauth4webapi.dynamicClientRegistrationRequest(as, metadata, options)
  expect(response.headers.get('cache-control')).toBe('no-store')
  const {
    client_id: id,
    client_secret: secret,
    ...told
  } = await oauth4webapi.processDynamicClientRegistrationResponse(response)
  expect(secret).toMatch(/^lks_/)
  expect(told).toEqual({
    ...METADATA,
    logo_uri: metadata.logo_uri,
    scope: 'read_books',
    response_types: ['code'],
    grant_types: ['authorization_code', 'refresh_token'],
    client_id_issued_at: expect.any(Number) as number,
    client_secret_expires_at: 0,
    registration_client_uri: `${one.url}/register/${id}`,
    registration_access_token: expect.stringMatching(/^[\w-]{43}$/) as string,
  })
})

test('what one process registers the other serves at once, for a public client too', async () => {
  const confidential = await register()
  expect((await getTokens(confidential)).access_token).toMatch(/./)
  const open = await register({ token_endpoint_auth_method: 'none' }, two)
  expect(open).not.toHaveProperty('client_secret')
  const silent = authorizationUrl(one, { client_id: open.client_id, prompt: 'none' })
  const location = (await one.get(silent)).headers.get('location')
  expect(location).toContain('error=invalid_request')
})

test('it is read at either process, without its secret', async () => {
  const client = await register()
  const { client_secret: _secret, client_secret_expires_at: _at, ...rest } = client
  for (const server of [one, two]) {
    const { status, headers, body } = await manage('GET', client, undefined, tokenOf(client), server)
    expect([status, body, headers.get('cache-control')]).toEqual([200, rest, 'no-store'])
  }
})

test('PUT replaces all of it, and the next request at the other process has that', async () => {
  const client = await register({ logo_uri: 'https://app.example/logo.png', contacts: ['ann@app.example'] })
  const redirect_uris = ['https://other.example/callback']
  const wanted = {
    client_id: client.client_id,
    client_secret: client.client_secret,
    client_name: 'Prints',
    redirect_uris,
    scope: 'openid',
  }
  const { status, body } = await manage('PUT', client, wanted, tokenOf(client), one)
  expect([status, body]).toMatchObject([200, { client_name: 'Prints', redirect_uris, scope: 'openid' }])
  expect(body).not.toHaveProperty('logo_uri')
  expect(body).not.toHaveProperty('contacts')
  expect(body).not.toHaveProperty('client_secret')
  const asked = async (redirect_uri: string) =>
    (
      await two.get(
        `/authorize?${new URL(authorizationUrl(one, { client_id: client.client_id, redirect_uri })).searchParams.toString()}`,
      )
    ).status
  expect([await asked(redirect_uris[0]!), await asked(REDIRECT_URI)]).toEqual([303, 400])
})

test('who becomes public loses the secret, and gets a new one when it is confidential again', async () => {
  const client = await register()
  const wanted = { ...METADATA, client_id: client.client_id }
  await manage('PUT', client, { ...wanted, token_endpoint_auth_method: 'none' })
  const again = await manage('PUT', client, { ...wanted, token_endpoint_auth_method: 'client_secret_basic' })
  expect(again.body.client_secret).toMatch(/^lks_/)
  // As who lost that answer asks, at either process.
  for (const server of [one, two])
    expect((await manage('GET', client, undefined, tokenOf(client), server)).body).toEqual(again.body)
  const answer = await authorize(one, { client_id: client.client_id })
  expect((await exchangeAs(client, answer.get('code')!)).status).toBe(401)
  expect((await exchangeAs(again.body, answer.get('code')!)).status).toBe(200)
})

test.each([
  ['no client_id', { ...METADATA }],
  ['the client_id of another', { ...METADATA, client_id: 'web' }],
  ['a secret of its choice', { ...METADATA, client_secret: 'chosen' }],
  ['a member that clients may not set', { ...METADATA, require_consent: false }],
])('PUT with %s is refused and changes nothing', async (_name, wanted) => {
  const client = await register()
  const named =
    'require_consent' in wanted || 'client_secret' in wanted
      ? { client_id: client.client_id, ...wanted }
      : wanted
  const { status, body } = await manage('PUT', client, { ...named, client_name: 'Changed' })
  expect([status, body]).toMatchObject([400, { error: 'invalid_client_metadata' }])
  expect((await manage('GET', client)).body).toMatchObject({ client_name: METADATA.client_name })
})

test.each(['GET', 'PUT', 'DELETE'])(
  '%s with no token, a wrong or foreign one is 401, and the challenge says which',
  async (method) => {
    const [client, other] = [await register(), await register()]
    const body = method === 'PUT' ? { ...METADATA, client_id: client.client_id } : undefined
    const bare = await send(two, method, pathOf(client), undefined, body)
    expect([bare.status, bare.headers.get('www-authenticate')]).toEqual([401, 'Bearer realm="registration"'])
    const tokens = ['wrong', tokenOf(other), INITIAL, tokenOf(client).slice(1)]
    for (const token of tokens) {
      const { status, headers, body: told } = await manage(method, client, body, token)
      expect([status, told]).toMatchObject([401, { error: 'invalid_token' }])
      expect(headers.get('www-authenticate')).toBe('Bearer realm="registration", error="invalid_token"')
    }
    expect((await manage('GET', client)).status).toBe(200)
  },
)

test('a client that is not there, and one that an administrator registered, answer like a wrong token', async () => {
  for (const id of ['web', 'nobody', 'n%20b', 'a'.repeat(300)]) {
    const response = await send(two, 'GET', `/register/${id}`, tokenOf(await register()))
    expect([response.status, ((await response.json()) as Registered)['error']]).toEqual([
      401,
      'invalid_token',
    ])
  }
})

test('DELETE ends the client and its tokens at both processes, and the old token is good for nothing more', async () => {
  const client = await register()
  const { access_token, refresh_token } = await getTokens(client)
  expect((await one.get('/userinfo', bearer(access_token))).status).toBe(200)
  expect((await manage('DELETE', client)).status).toBe(204)
  const form = { grant_type: 'refresh_token', refresh_token }
  for (const server of [two, one]) {
    await expect.poll(async () => (await server.get('/userinfo', bearer(access_token))).status).toBe(401)
    expect((await server.post('/token', form, basic(client.client_id, client.client_secret))).status).toBe(
      401,
    )
    expect((await manage('GET', client, undefined, tokenOf(client), server)).status).toBe(401)
  }
  // One that an administrator registers by that name later is another client, and theirs.
  const args = ['client', 'create', '--client-id', client.client_id, '--redirect-uri', REDIRECT_URI]
  expect((await runCommand(args, one.settings)).status).toBe(0)
  for (const method of ['GET', 'DELETE']) expect((await manage(method, client)).status).toBe(401)
})

test('of two who delete and replace at both processes, nobody sees a fault, and it is gone', async () => {
  const client = await register()
  const body = { ...METADATA, client_id: client.client_id }
  const answers = await Promise.all([
    ...Array.from({ length: 6 }, async (_, at) =>
      manage('PUT', client, { ...body, client_name: `Name ${at}` }, tokenOf(client), at % 2 ? one : two),
    ),
    manage('DELETE', client, undefined, tokenOf(client), one),
    manage('DELETE', client, undefined, tokenOf(client), two),
  ])
  for (const { status } of answers) expect([200, 204, 400, 401, 503]).toContain(status)
  await expect.poll(async () => (await manage('GET', client)).status).toBe(401)
})

test('without the initial token nobody registers', async () => {
  for (const token of [undefined, 'wrong', `${INITIAL}.`]) {
    const response = await send(two, 'POST', '/register', token, METADATA)
    expect([response.status, await response.json()]).toMatchObject([401, { error: 'invalid_token' }])
    expect(response.headers.get('www-authenticate')).toMatch(/^Bearer realm="registration"/)
  }
})

test('pages of other origins may register, as apps in a browser do', async () => {
  const asking = {
    origin: 'https://app.example',
    'access-control-request-method': 'PUT',
    'access-control-request-headers': 'content-type',
  }
  const preflight = await one.request('/register/some', { method: 'OPTIONS', headers: asking })
  expect([preflight.status, preflight.headers.get('access-control-allow-methods')]).toEqual([
    204,
    expect.stringContaining('PUT'),
  ])
})

test('no token and no secret is in the database or the log in the clear', async () => {
  const client = await register()
  await manage('PUT', client, {
    ...METADATA,
    client_id: client.client_id,
    client_secret: client.client_secret,
  })
  const rows = await one.database.query(
    `select to_jsonb(c), to_jsonb(s) from clients c left join client_secrets s using (client_id)`,
  )
  const logs = `${JSON.stringify(rows)}${one.output()}${two.output()}`
  for (const secret of [INITIAL, client.client_secret, tokenOf(client)]) expect(logs).not.toContain(secret)
})

test('an open door is bounded: for one network, and for all', async () => {
  const open = await spawnServer({ PLUGINS, REGISTRATION_MOST: 3 }, { seed: SEED })
  const tries = await Promise.all(
    Array.from({ length: 5 }, async () => send(open, 'POST', '/register', undefined, METADATA)),
  )
  const made = tries.filter(({ status }) => status === 201)
  expect(made.length).toBeGreaterThanOrEqual(3)
  const full = await send(open, 'POST', '/register', undefined, METADATA)
  expect([full.status, full.headers.get('retry-after')]).toEqual([429, '3600'])
  const client = (await made[0]!.json()) as Registered
  const managed = await send(open, 'GET', pathOf(client), tokenOf(client))
  expect(managed.status).toBe(200)
  for (let tried = 0; tried < 20; tried++)
    await send(open, 'POST', '/register', undefined, { redirect_uris: ['javascript:x'] })
  const late = await send(open, 'POST', '/register', undefined, METADATA)
  expect(late.status).toBe(429)
  expect(Number(late.headers.get('retry-after'))).toBeLessThanOrEqual(60)
})

test.each([
  ['no JSON', '{', 'invalid_request'],
  ['a list', '[]', 'invalid_request'],
  ['a redirect that is no address', JSON.stringify({ redirect_uris: ['/callback'] }), 'invalid_redirect_uri'],
  ['a redirect that is no text', JSON.stringify({ redirect_uris: [{}] }), 'invalid_redirect_uri'],
  ['scopes that are no text', JSON.stringify({ ...METADATA, scope: { a: 1 } }), 'invalid_client_metadata'],
])('%s is refused by the words of the standard', async (_name, body, error) => {
  const headers = { ...bearer(INITIAL), 'content-type': 'application/json' }
  const response = await one.request('/register', { method: 'POST', headers, body })
  expect([response.status, await response.json()]).toMatchObject([400, { error }])
})

test('the audit log names the client itself, from where it came', async () => {
  const client = await register()
  await manage('PUT', client, { ...METADATA, client_id: client.client_id, client_name: 'Prints' })
  await manage('DELETE', client)
  const events = await one.database.query<{
    type: string
    actor_kind: string
    actor_id: string
    address: string | null
  }>(`select * from audit_events where client_id = '${client.client_id}' order by id`)
  expect(events.map(({ type }) => type)).toEqual(['client.registered', 'client.changed', 'client.deleted'])
  for (const event of events) expect(JSON.stringify(event)).toContain(`"${client.client_id}"`)
})
