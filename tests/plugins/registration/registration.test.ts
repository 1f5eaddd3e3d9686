/** Dynamic registration and its management: RFC 7591, RFC 7592, OpenID Connect Dynamic Client Registration 1.0. */
import { randomUUID } from 'node:crypto'
import * as oauth4webapi from 'oauth4webapi'
import * as openidClient from 'openid-client'
import { expect, test } from 'vitest'
import { kernelOf } from '../../../src/http/kernel-of.ts'
import { statements as codes } from '../../../src/store/authorization-codes.ts'
import { basic, bearer } from '../../support/requests.ts'
import { startBeside, startServer } from '../../support/server.ts'
import { authorize, goThrough, REDIRECT_URI, SEED } from '../../support/sign-in.ts'
import { until } from '../../support/until.ts'
import { createUserAgent } from '../../support/user-agent.ts'

const METADATA = { client_name: 'Photo Prints', redirect_uris: [REDIRECT_URI] }
const insecure = { [oauth4webapi.allowInsecureRequests]: true }
const server = await startServer({ OIDC_REGISTRATION: 'token', OIDC_JANITOR_INTERVAL: 0 }, { seed: SEED })
const { initialTokens } = kernelOf(server.server)
const manifold = await initialTokens.create({ name: 'manifold', uses: 1000 })
let made = 0

interface Registered extends Record<string, unknown> {
  client_id: string
  client_secret: string
  registration_client_uri: string
  registration_access_token: string
}

async function send(method: string, url: string, token?: string, body?: unknown) {
  const response = await server.request(url.replace(server.url, ''), {
    method,
    headers: {
      ...(token === undefined ? {} : bearer(token)),
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
    },
    ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
  })
  const text = await response.text()
  const json = (text === '' ? {} : JSON.parse(text)) as Registered
  return { status: response.status, headers: response.headers, body: json }
}

async function register(metadata: object = {}, token = manifold): Promise<Registered> {
  const { status, body } = await send('POST', '/register', token, { ...METADATA, ...metadata })
  expect([status, body]).toMatchObject([201, {}])
  return body
}

test('a token that is deleted while a client is registered by it uses up no other one that has its name by then', async () => {
  const find = async (token: string) => (await initialTokens.find(token))!
  const former = await find(await initialTokens.create({ name: 'again' }))
  await initialTokens.delete('again')
  const token = await initialTokens.create({ name: 'again' })
  const spend = async (found: typeof former) =>
    kernelOf(server.server).database.transactional(async (em) => initialTokens.spend(em, found))
  expect(await spend(former)).toBe(false)
  expect(await spend(await find(token))).toBe(true)
  expect(await initialTokens.find(token)).toBeNull()
}) // prettier-ignore

test('an app that an administrator has taken over changes nothing any more, and does not end', async () => {
  const { client_id, registration_client_uri: at, registration_access_token: token } = await register()
  await server.server.oauth.clients.update(client_id, { show_logo: true })
  const refused = { status: 403, body: { error: 'access_denied', error_description: 'an administrator has taken over this registration' } }
  expect(await send('PUT', at, token, { ...METADATA, client_id })).toMatchObject(refused)
  expect(await send('DELETE', at, token)).toMatchObject(refused)
  const read = await send('GET', at, token)
  expect(read).toMatchObject({ status: 200, body: { client_id } })
  await server.server.oauth.clients.update(client_id, { show_logo: null })
  expect((await send('DELETE', at, read.body.registration_access_token)).status).toBe(204)
}) // prettier-ignore

const invite = async (more: object) => initialTokens.create({ name: `token-${++made}`, ...more })

test('openid-client registers, signs its user in, updates and deletes its registration', async () => {
  const config = await openidClient.dynamicClientRegistration(new URL(server.url), METADATA, undefined, {
    initialAccessToken: manifold,
    execute: [openidClient.allowInsecureRequests],
  })
  const pkceCodeVerifier = openidClient.randomPKCECodeVerifier()
  const [state, nonce] = [openidClient.randomState(), openidClient.randomNonce()]
  const url = openidClient.buildAuthorizationUrl(config, {
    redirect_uri: REDIRECT_URI,
    scope: 'openid email profile',
    state,
    nonce,
    code_challenge: await openidClient.calculatePKCECodeChallenge(pkceCodeVerifier),
    code_challenge_method: 'S256',
  })
  const agent = createUserAgent(server.url)
  const page = await goThrough(agent, await agent.get(url))
  const tokens = await openidClient.authorizationCodeGrant(config, new URL(page.headers.get('location')!), {
    pkceCodeVerifier,
    expectedState: state,
    expectedNonce: nonce,
  })
  expect(tokens.scope).toBe('openid email profile')
  expect(tokens.claims()?.aud).toBe(config.clientMetadata().client_id)

  const { registration_client_uri: at, ...registered } = config.clientMetadata() as unknown as Registered
  let token = registered.registration_access_token
  const manage = async (method: string, body?: object) => {
    const headers = new Headers({ 'content-type': 'application/json' })
    const sent = body === undefined ? undefined : JSON.stringify(body)
    const response = await openidClient.fetchProtectedResource(
      config,
      token,
      new URL(at),
      method,
      sent,
      headers,
    )
    if (response.status === 204) return response.status
    const told = (await response.json()) as Registered
    token = told.registration_access_token
    return told
  }
  expect(await manage('GET')).toMatchObject(METADATA)
  const prints = { ...METADATA, client_id: registered.client_id, client_name: 'Prints' }
  expect(await manage('PUT', prints)).toMatchObject({ client_name: 'Prints' })
  expect(await manage('DELETE')).toBe(204)
  await expect(manage('GET')).rejects.toMatchObject({ status: 401 })
})

test('oauth4webapi is told all that is registered, and what manages it', async () => {
  const as = await oauth4webapi.processDiscoveryResponse(
    new URL(server.url),
    await oauth4webapi.discoveryRequest(new URL(server.url), insecure),
  )
  expect(as.registration_endpoint).toBe(`${server.url}/register`)
  const initialAccessToken = await invite({ scopes: ['read_books'] })
  const response = await oauth4webapi.dynamicClientRegistrationRequest(
    as,
    { ...METADATA, logo_uri: 'https://app.example/logo.png', unknown_member: 'ignored' },
    { ...insecure, initialAccessToken },
  )
  expect([response.status, response.headers.get('cache-control')]).toEqual([201, 'no-store'])
  const { client_id: id, ...told } = await oauth4webapi.processDynamicClientRegistrationResponse(response)
  expect(told).toEqual({
    ...METADATA,
    logo_uri: 'https://app.example/logo.png',
    scope: 'read_books',
    response_types: ['code'],
    grant_types: ['authorization_code', 'refresh_token'],
    client_id_issued_at: expect.any(Number) as number,
    client_secret: expect.stringMatching(/^lks_/) as string,
    client_secret_expires_at: 0,
    registration_client_uri: `${server.url}/register/${id}`,
    registration_access_token: expect.stringMatching(/^lkr_[\w-]{43}$/) as string,
  })
})

test('it is read, updated as a whole, and deleted with its tokens', async () => {
  const client = await register({ logo_uri: 'https://app.example/logo.png' })
  const at = client.registration_client_uri
  const read = await send('GET', at, client.registration_access_token)
  expect([read.status, read.body]).toMatchObject([200, { client_name: 'Photo Prints' }])
  expect(read.body).not.toHaveProperty('client_secret')
  // What was read is sent back, with another name.
  const { logo_uri: _logo, ...said } = read.body
  const wanted = { ...said, client_name: 'Prints', client_secret: client.client_secret }
  const updated = await send('PUT', at, read.body.registration_access_token, wanted)
  expect([updated.status, updated.body]).toMatchObject([200, { client_name: 'Prints' }])
  expect(updated.body).not.toHaveProperty('logo_uri')
  const answer = await authorize(server, { client_id: client.client_id })
  const form = { grant_type: 'authorization_code', code: answer.get('code')!, redirect_uri: REDIRECT_URI }
  const response = await server.post('/token', form, basic(client.client_id, client.client_secret))
  const tokens = (await response.json()) as { access_token: string }
  expect((await server.get('/userinfo', bearer(tokens.access_token))).status).toBe(200)
  const token = updated.body.registration_access_token
  expect((await send('DELETE', at, token)).status).toBe(204)
  expect((await server.get('/userinfo', bearer(tokens.access_token))).status).toBe(401)
  for (const method of ['GET', 'PUT', 'DELETE'])
    expect((await send(method, at, token, method === 'PUT' ? wanted : undefined)).status).toBe(401)
  expect(
    (await server.database.query('select 1 from registrations where client_id = $1', [client.client_id]))
      .length,
  ).toBe(0)
})

test.each([['omitted', undefined], ['null', null]])('what is %s in an update is deleted, or its default again', async (_kind, gone) => {
  const members = { client_name: 'Prints', token_endpoint_auth_method: 'client_secret_post', tos_uri: 'https://app.example/tos' }
  const { registration_client_uri: at, registration_access_token: token, ...client } = await register(members)
  const nothing = Object.fromEntries(Object.keys(members).map((name) => [name, gone]))
  const wanted = { client_id: client.client_id, redirect_uris: [REDIRECT_URI], ...nothing }
  const updated = await send('PUT', at, token, wanted)
  const read = await send('GET', at, updated.body.registration_access_token)
  for (const { status, body } of [updated, read]) {
    expect([status, Object.keys(members).filter((name) => name in body)]).toEqual([200, []])
    expect(body).toMatchObject({ redirect_uris: [REDIRECT_URI], response_types: ['code'] })
  }
  expect(await server.server.oauth.clients.find(client.client_id)).not.toHaveProperty('client_name')
  const sent = await server.post('/token', { grant_type: 'refresh_token', refresh_token: 'x' }, basic(client.client_id, client.client_secret))
  expect(await sent.json()).toMatchObject({ error: 'invalid_grant' })
}) // prettier-ignore

test('a registration token gives the next one, and is good until that is used: a lost answer locks nobody out', async () => {
  const client = await register()
  const read = async (token: string) => send('GET', client.registration_client_uri, token)
  const first = client.registration_access_token
  const all = await Promise.all(Array.from({ length: 6 }, async () => read(first)))
  const next = all[0]!.body.registration_access_token
  for (const { status, body } of all) expect([status, body.registration_access_token]).toEqual([200, next])
  expect(next).not.toBe(first)
  // Once more with the former one: the answer was lost.
  expect((await read(first)).body.registration_access_token).toBe(next)
  const third = (await read(next)).body.registration_access_token
  expect(third).not.toBe(next)
  expect((await read(first)).status).toBe(401)
  expect((await read(next)).status).toBe(200)
})

test.each([
  ['none', undefined, ''],
  ['a wrong one', 'wrong', ', error="invalid_token"'],
  ['one of the right form', `lkr_${'a'.repeat(43)}`, ', error="invalid_token"'],
])(
  'with %s for a token nobody manages a client, and the challenge says which',
  async (_name, token, error) => {
    const client = await register()
    const wanted = { ...METADATA, client_id: client.client_id }
    for (const at of [client.registration_client_uri, '/register/web', '/register/nobody'])
      for (const method of ['GET', 'PUT', 'DELETE']) {
        const { status, headers, body } = await send(method, at, token, method === 'PUT' ? wanted : undefined)
        const error_description =
          token === undefined
            ? 'a token is needed: send it as Authorization: Bearer'
            : 'the token is not good for this'
        expect([status, body]).toEqual([401, { error: 'invalid_token', error_description }])
        expect(headers.get('www-authenticate')).toBe(`Bearer realm="registration"${error}`)
      }
  },
)

test.each([
  ['a fragment', { redirect_uris: ['https://app.example/#x'] }, 'invalid_redirect_uri'],
  ['a script', { redirect_uris: ['javascript:alert(1)'] }, 'invalid_redirect_uri'],
  ['no https', { redirect_uris: ['http://app.example/'] }, 'invalid_redirect_uri'],
  ['no address', { redirect_uris: [] }, 'invalid_redirect_uri'],
  ['an id of its own', { client_id: 'web' }, 'invalid_client_metadata'],
  ['a secret of its own', { client_secret: 'chosen' }, 'invalid_client_metadata'],
  ['trust', { require_consent: false }, 'invalid_client_metadata'],
  ['a scope that nobody gave it', { scope: 'read_books' }, 'invalid_client_metadata'],
  ['another grant', { grant_types: ['client_credentials'] }, 'invalid_client_metadata'],
  [
    'code without its grant',
    { response_types: ['code'], grant_types: ['refresh_token'] },
    'invalid_client_metadata',
  ],
  ['tokens at once', { response_types: ['token'] }, 'invalid_client_metadata'],
  ['NUL', { client_name: 'a\0b' }, 'invalid_request'],
])('%s is refused in the words of the standard, and costs no use', async (_name, metadata, error) => {
  const token = await invite({ uses: 1 })
  const { status, body } = await send('POST', '/register', token, { ...METADATA, ...metadata })
  expect([status, body]).toMatchObject([400, { error }])
  await register({}, token)
})

test.each([
  ['no JSON', '{'],
  ['a list', '[]'],
  ['a member twice', '{"client_name":"a","client_name":"b"}'],
  ['deep nesting', `{"jwks":${'['.repeat(200)}${']'.repeat(200)}}`],
])('%s is no request', async (_name, body) => {
  const response = await send('POST', '/register', manifold, body)
  expect([response.status, response.body]).toMatchObject([400, { error: 'invalid_request' }])
})

test('other types, and too much of the right one, are refused', async () => {
  const form = await server.post('/register', { client_name: 'a' }, bearer(manifold))
  expect(form.status).toBe(415)
  const large = await send('POST', '/register', manifold, { ...METADATA, client_name: 'a'.repeat(2e6) })
  expect(large.status).toBe(413)
})

test('a secret that comes with another method is told once more to who asks again, as the answer was lost, and not beyond that', async () => {
  const { registration_client_uri: at, registration_access_token: token, ...client } = await register({ token_endpoint_auth_method: 'none' })
  expect(client).not.toHaveProperty('client_secret')
  const wanted = { ...METADATA, client_id: client.client_id, token_endpoint_auth_method: 'client_secret_basic' }
  const lost = await send('PUT', at, token, wanted)
  const { client_secret: secret } = lost.body
  expect(secret).toMatch(/^lks_[\w-]{43}$/)
  for (const [method, body] of [['PUT', wanted], ['GET', undefined], ['PUT', { ...wanted, client_secret: secret }]] as const) {
    const again = await send(method, at, token, body)
    expect([again.status, again.body]).toEqual([200, lost.body])
  }
  const next = await send('PUT', at, lost.body.registration_access_token, wanted)
  expect([next.status, next.body]).toEqual([200, expect.not.objectContaining({ client_secret: expect.anything() as unknown })])
  const sent = await server.post('/token', { grant_type: 'refresh_token', refresh_token: 'x' }, basic(client.client_id, secret))
  expect(await sent.json()).toMatchObject({ error: 'invalid_grant' })
}) // prettier-ignore

test('a secret that has ended does not come again by the same registration access token', async () => {
  const { registration_client_uri: at, registration_access_token: token, client_id } = await register({ token_endpoint_auth_method: 'none' })
  const put = async (token_endpoint_auth_method: string) =>
    (await send('PUT', at, token, { ...METADATA, client_id, token_endpoint_auth_method })).body as { client_secret?: string }
  const { client_secret: first } = await put('client_secret_basic')
  expect(await put('none')).not.toHaveProperty('client_secret')
  const { client_secret: second } = await put('client_secret_basic')
  expect([second, second === first]).toEqual([expect.stringMatching(/^lks_/), false])
  expect(await put('client_secret_basic')).toMatchObject({ client_secret: second })
  // One that leaked, and that an administrator has ended.
  await server.server.oauth.clients.rotateSecret(client_id, 0)
  expect(await put('client_secret_basic')).not.toHaveProperty('client_secret')
  await put('none')
  const { client_secret: third } = await put('client_secret_basic')
  expect([first, second]).not.toContain(third)
  for (const ended of [first, second]) {
    const refused = await server.post('/token', { grant_type: 'refresh_token', refresh_token: 'x' }, basic(client_id, ended!))
    expect(await refused.json()).toMatchObject({ error: 'invalid_client' })
  }
}) // prettier-ignore

test('an initial token is good for so many uses, for the hosts, scopes and grants that it names, and no longer than that', async () => {
  const token = await invite({
    uses: 2,
    scopes: ['read_books'],
    grant_types: ['client_credentials'],
    redirect_hosts: ['app.example'],
  })
  const elsewhere = { redirect_uris: ['https://other.example/'], response_types: [] }
  for (const uri of [...elsewhere.redirect_uris, 'com.other.app://app.example/callback'])
    expect(
      (await send('POST', '/register', token, { ...elsewhere, redirect_uris: [uri] })).body['error'],
    ).toBe('invalid_redirect_uri')
  const service = await register({ grant_types: ['client_credentials'], response_types: [] }, token)
  const form = { grant_type: 'client_credentials' }
  const issued = await server.post('/token', form, basic(service.client_id, service.client_secret))
  expect([issued.status, await issued.json()]).toMatchObject([200, { scope: 'read_books' }])
  // What it may ask for stays what its token allowed.
  const wanted = { client_id: service.client_id, ...elsewhere, grant_types: ['client_credentials'] }
  const moved = await send('PUT', service.registration_client_uri, service.registration_access_token, wanted)
  expect([moved.status, moved.body]).toMatchObject([400, { error: 'invalid_redirect_uri' }])
  const answers = await Promise.all(
    Array.from({ length: 5 }, async () =>
      send('POST', '/register', token, { ...METADATA, response_types: [], grant_types: [] }),
    ),
  )
  expect(answers.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([201, 401, 401, 401, 401])
})

test('an expired or deleted initial token registers nobody; what it registered stays', async () => {
  const [expired, deleted] = [
    await invite({ uses: 5 }),
    await initialTokens.create({ name: 'deleted', uses: 5 }),
  ]
  await server.database.query(`update initial_tokens set expires_at = now() where name = 'token-${made}'`)
  const client = await register({}, deleted)
  expect([await initialTokens.delete('deleted'), await initialTokens.delete('deleted')]).toEqual([
    true,
    false,
  ])
  for (const token of [expired, deleted])
    expect((await send('POST', '/register', token, METADATA)).status).toBe(401)
  expect((await send('GET', client.registration_client_uri, client.registration_access_token)).status).toBe(
    200,
  )
})

/** As if nobody had heard of them for so long. */
async function forget(...clients: readonly Registered[]): Promise<void> {
  const old = `update registrations set used_at = now() - interval '31 days' where client_id = any($1)`
  await server.database.query(old, [clients.map(({ client_id: id }) => id)])
}

const isThere = async ({ client_id: id }: Registered) => (await server.server.oauth.clients.find(id)) !== null
const endUnused = async () => kernelOf(server.server).endUnusedRegistrations()

const issuedTo = async ({ client_id: id }: Registered) =>
  server.database.query(`select 1 from audit_events where type = 'token.issued' and client_id = $1`, [id])

async function issueTo(client: Registered): Promise<void> {
  const answer = await authorize(server, { client_id: client.client_id })
  const form = { grant_type: 'authorization_code', code: answer.get('code')!, redirect_uri: REDIRECT_URI }
  const response = await server.post('/token', form, basic(client.client_id, client.client_secret))
  expect(response.status).toBe(200)
}

test('one that somebody has allowed something stays as long as its refresh token is good', async () => {
  const client = await register()
  await issueTo(client)
  await expect.poll(async () => issuedTo(client)).toHaveLength(1)
  // Of long ago: the log has forgotten it.
  await server.database.query('delete from audit_events where client_id = $1', [client.client_id])
  for (const [table, time] of Object.entries({ authorizations: 'created_at', consents: 'granted_at' }))
    await server.database.query(
      `update ${table} set ${time} = now() - interval '40 days' where client_id = $1`,
      [client.client_id],
    )
  await forget(client)
  expect([await endUnused(), await isThere(client)]).toEqual([0, true])
  const ofIt = 'authorization_id in (select id from authorizations where client_id = $1)'
  await server.database.query(`delete from refresh_tokens where ${ofIt}`, [client.client_id])
  await forget(client)
  expect([await endUnused(), await isThere(client)]).toEqual([1, false])
})

test('one that was just allowed something stays, though it has no token yet; and one of which an administrator has made more', async () => {
  const [allowed, trusted, neither] = [await register(), await register(), await register()]
  await authorize(server, { client_id: allowed.client_id })
  await server.server.oauth.clients.update(trusted.client_id, { show_logo: true })
  await forget(allowed, trusted, neither)
  expect(await endUnused()).toBe(1)
  expect(await Promise.all([allowed, trusted, neither].map(isThere))).toEqual([true, true, false])
  expect(await endUnused()).toBe(0)
})

test('one that is being allowed something at that moment stays, and one that was just allowed something', async () => {
  const [client, allowed] = [await register(), await register()]
  for (const { client_id } of [client, allowed]) await authorize(server, { client_id })
  const [code] = await server.database.query<{ subject: string; sid: string; consent: string }>(
    `delete from authorization_codes c using consents o where c.client_id = $1 and o.client_id = $1
      returning c.subject, c.granted->'authentication'->>'sid' as "sid", o.consent_id as "consent"`,
    [client.client_id],
  )
  await server.database.query('delete from authorization_codes where client_id = $1', [allowed.client_id])
  const old = `update consents set granted_at = now() - interval '40 days' where client_id = $1`
  await server.database.query(old, [client.client_id])
  await forget(client, allowed)
  const [stored, looked] = [Promise.withResolvers<undefined>(), Promise.withResolvers<undefined>()]
  const storing = kernelOf(server.server).database.transaction(async (query) => {
    const values = { ...code!, authorizationId: randomUUID(), hash: 'under way', clientId: client.client_id, redirectUri: REDIRECT_URI, granted: {}, lifetime: 60 }
    expect(await query(codes.insert, codes.insert.values(values))).toHaveLength(1)
    stored.resolve(undefined)
    await looked.promise
  })
  await stored.promise
  const ending = endUnused()
  const waiting = `select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`
  const blocked = until(async () => expect(await server.database.query(waiting)).not.toEqual([]))
  await Promise.race([ending, blocked])
  looked.resolve(undefined)
  await storing
  expect([await ending, await isThere(client), await isThere(allowed)]).toEqual([0, true, true])
}) // prettier-ignore

test('one that acts for itself is used where the log has tokens of it, and is removed where it has none', async () => {
  const invitation = await invite({ uses: 2, grant_types: ['client_credentials'], scopes: ['read_books'] })
  const service = { grant_types: ['client_credentials'], response_types: [], redirect_uris: undefined }
  const [unused, used] = [await register(service, invitation), await register(service, invitation)]
  await server.post('/token', { grant_type: 'client_credentials' }, basic(used.client_id, used.client_secret))
  await expect.poll(async () => issuedTo(used)).toHaveLength(1)
  await forget(unused, used)
  expect(await endUnused()).toBe(1)
  expect(await Promise.all([unused, used].map(isThere))).toEqual([false, true])
  expect(await endUnused()).toBe(0)
})

test('no token is in the database or the log in the clear', async () => {
  const client = await register()
  const rows = await server.database.query('select to_jsonb(r) from registrations r')
  const tokens = await server.database.query('select to_jsonb(t) from initial_tokens t')
  const told = `${JSON.stringify([rows, tokens])}${server.output()}`
  for (const secret of [manifold, client.client_secret, client.registration_access_token])
    expect(told).not.toContain(secret)
})

test('pages of other origins may register and manage', async () => {
  const asking = {
    origin: 'https://app.example',
    'access-control-request-method': 'PUT',
    'access-control-request-headers': 'content-type,authorization',
  }
  const preflight = await server.request('/register/some', { method: 'OPTIONS', headers: asking })
  expect([preflight.status, preflight.headers.get('access-control-allow-methods')]).toEqual([
    204,
    expect.stringContaining('PUT') as string,
  ])
  const { origin } = asking
  const refused = await server.request('/register', {
    method: 'POST',
    headers: { origin, 'content-type': 'application/json' },
    body: '{}',
  })
  expect([refused.status, refused.headers.get('access-control-allow-origin')]).toEqual([401, '*'])
  expect(refused.headers.get('access-control-expose-headers')).toMatch(/www-authenticate/i)
})

test('an open door is bounded: for one network, and for all; and tokens go before strangers', async () => {
  const open = await startServer({ OIDC_REGISTRATION: 'open', OIDC_REGISTRATION_MOST: 21 }, { seed: SEED })
  const come = async (token?: string) =>
    open.request('/register', {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...(token === undefined ? {} : bearer(token)) },
      body: JSON.stringify(METADATA),
    })
  const statuses: number[] = []
  for (let tried = 0; tried < 21; tried++) statuses.push((await come()).status)
  expect(statuses).toEqual([...Array.from({ length: 20 }, () => 201), 429])
  const token = await kernelOf(open.server).initialTokens.create({ name: 'partner', uses: 2 })
  expect((await come(token)).status).toBe(201)
  const full = await come(token)
  expect([full.status, full.headers.get('retry-after')]).toEqual([429, '3600'])
})

test('of those who come to two processes at once, no more register than there may be', async () => {
  const few = { OIDC_REGISTRATION: 'open', OIDC_REGISTRATION_MOST: 3, OIDC_REGISTRATION_AT_ONCE: 100 }
  const one = await startServer(few, { seed: SEED })
  const both = [one, await startBeside(one)]
  const headers = { 'content-type': 'application/json' }
  const come = async (at: number) =>
    both[at % 2]!.request('/register', { method: 'POST', headers, body: JSON.stringify(METADATA) })
  const statuses = (await Promise.all(Array.from({ length: 16 }, (_, at) => come(at)))).map(
    ({ status }) => status,
  )
  expect(statuses.filter((status) => status !== 429)).toEqual([201, 201, 201])
  const registered = await one.database.query('select from clients where registrar is not null')
  expect(registered).toHaveLength(3)
})

test('an app changes its registration so often, and no more; it is read and deleted all the same', async () => {
  const { client_id, registration_client_uri: at, registration_access_token: token } = await register()
  const change = async () =>
    send('PUT', at, token, { ...METADATA, client_id, client_name: `Prints ${++made}` })
  const answers = await Promise.all(Array.from({ length: 60 }, change))
  expect(answers.filter(({ status }) => status !== 200 && status !== 503)).toEqual([])
  let more = await change()
  // One comes back every ten seconds.
  for (let tries = 0; more.status === 200 && tries < 10; tries++) more = await change()
  expect([more.status, more.headers.get('retry-after')]).toEqual([429, expect.stringMatching(/^\d+$/)])
  expect((await send('GET', at, token)).status).toBe(200)
  expect((await send('DELETE', at, token)).status).toBe(204)
  expect((await register()).client_id).toBeDefined()
})

test('how many one network may register at once is for the operator to say', async () => {
  const open = await startServer({ OIDC_REGISTRATION: 'open', OIDC_REGISTRATION_AT_ONCE: 2 }, { seed: SEED })
  const headers = { 'content-type': 'application/json' }
  const come = async () =>
    open.request('/register', { method: 'POST', headers, body: JSON.stringify(METADATA) })
  expect([(await come()).status, (await come()).status]).toEqual([201, 201])
  const refused = await come()
  expect(refused.status).toBe(429)
  // Nothing has failed.
  expect(await refused.json()).toMatchObject({
    error_description: 'there were too many attempts; try again later',
  })
})

test.each([
  ['off, the default', {}],
  ['left out', { OIDC_REGISTRATION: 'open', WITHOUT: 'latchkey-registration' }],
])('%s, nothing of it is there', async (_name, settings) => {
  const off = await startServer(settings, { seed: SEED })
  const metadata = (await (await off.get('/.well-known/openid-configuration')).json()) as object
  expect(metadata).not.toHaveProperty('registration_endpoint')
  expect((await off.request('/register', { method: 'POST' })).status).toBe(404)
})
