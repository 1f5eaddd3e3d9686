/** client_secret_jwt (OpenID Connect Core §9): its clients, judged by libraries, and what becomes of their secrets. */
import { randomBytes } from 'node:crypto'
import * as oauth4webapi from 'oauth4webapi'
import * as openidClient from 'openid-client'
import { describe, expect, test } from 'vitest'
import { askWith, assertionOf, createAssertionKey, type Told } from '../../support/client-assertions.ts'
import { createClient, requestToken } from '../../support/clients.ts'
import { runCommandHere } from '../../support/command-here.ts'
import { requestsTo, type Requests } from '../../support/requests.ts'
import { startServer } from '../../support/server.ts'
import { freePort } from '../../support/settings.ts'

const METHOD = 'client_secret_jwt'
const CHOSEN = 'a secret that somebody has chosen by himself'
const registered = {
  token_endpoint_auth_method: METHOD,
  grant_types: ['client_credentials'],
  scope: ['read'],
}
const seed = { clients: [{ ...registered, client_id: 'seeded', client_secret: CHOSEN }] }
const one = await startServer({ SECRET_KEY: 'o'.repeat(32), OIDC_REGISTRATION: 'open' }, { seed })
const { clients } = one.server.oauth
const issuer = new URL(one.url)

const keyOf = (secret: string, alg = 'HS256') => ({ alg, privateKey: Buffer.from(secret) })
const make = async (clientId: string, secret: string, alg?: string): Promise<string> =>
  assertionOf(keyOf(secret, alg), clientId, one.url)
const wordsOf = ({ status, error = '' }: Told): string => `${status} ${error}`.trim()
const ask = async (clientId: string, secret: string, alg?: string, at: Requests = one): Promise<string> =>
  wordsOf(await askWith(await make(clientId, secret, alg), at))
const REFUSED = '401 invalid_client'
/** What is stored of the secrets of a client. */
const storedOf = async (clientId: string): Promise<{ sealed: string | null; hash: string }[]> =>
  one.database.query('select sealed, hash from client_secrets where client_id = $1 order by created_at', [
    clientId,
  ])

test('oauth4webapi gets and introspects a token by it', async () => {
  const { clientId, clientSecret } = await createClient(one, registered)
  const as = await oauth4webapi.processDiscoveryResponse(
    issuer,
    await oauth4webapi.discoveryRequest(issuer, { [oauth4webapi.allowInsecureRequests]: true }),
  )
  const insecure = { [oauth4webapi.allowInsecureRequests]: true }
  const [client, auth] = [{ client_id: clientId }, oauth4webapi.ClientSecretJwt(clientSecret)]
  const got = await oauth4webapi.clientCredentialsGrantRequest(as, client, auth, {}, insecure)
  const { access_token } = await oauth4webapi.processClientCredentialsResponse(as, client, got)
  const asked = await oauth4webapi.introspectionRequest(as, client, auth, access_token, insecure)
  expect(await oauth4webapi.processIntrospectionResponse(as, client, asked)).toHaveProperty('active')
})

test('openid-client does so from the metadata alone', async () => {
  const { clientId, clientSecret } = await createClient(one, registered)
  const execute = [openidClient.allowInsecureRequests]
  const auth = openidClient.ClientSecretJwt(clientSecret)
  const config = await openidClient.discovery(issuer, clientId, undefined, auth, { execute })
  expect(await openidClient.clientCredentialsGrant(config)).toMatchObject({ scope: 'read' })
  expect(config.serverMetadata()['token_endpoint_auth_signing_alg_values_supported']).toContain('HS256')
})

describe('a secret is long enough for its algorithm', () => {
  test.each(['HS256', 'HS384', 'HS512'])('one that was made keys %s', async (alg) => {
    const { clientId, clientSecret } = await createClient(one, registered)
    expect(await ask(clientId, clientSecret, alg)).toBe('200')
  })

  test('a chosen one keys what it is long enough for', async () => {
    expect(await ask('seeded', CHOSEN)).toBe('200')
    expect(await ask('seeded', CHOSEN, 'HS512')).toBe(REFUSED)
    expect(one.output()).toContain('"reason":"the secret is too short for its alg"')
  })

  test.each([
    ['HS256', 31, 'must have 32 bytes or more'],
    ['HS512', 63, 'must have 64 bytes or more'],
    ['RS256', 64, 'token_endpoint_auth_signing_alg must be one of HS256, HS384, HS512'],
  ])('by %s, with %i bytes: %s', async (alg, length, reason) => {
    const refused = clients.create({
      ...registered,
      token_endpoint_auth_signing_alg: alg,
      client_secret: 's'.repeat(length),
    })
    await expect(refused).rejects.toThrow(reason)
  })
})

test('no key but its secret is good, by no method but its own', async () => {
  const { clientId, clientSecret, basic } = await createClient(one, registered)
  const key = await createAssertionKey()
  expect(await ask(clientId, randomBytes(64).toString('hex'))).toBe(REFUSED)
  expect(wordsOf(await askWith(await assertionOf(key, clientId, one.url), one))).toBe(REFUSED)
  expect((await requestToken(one, { clientId, clientSecret, basic })).status).toBe(401)
  expect(await ask('nobody', clientSecret)).toBe(REFUSED)
  const assertion = await make(clientId, clientSecret)
  expect([await askWith(assertion, one), await askWith(assertion, one)].map(wordsOf)).toEqual([
    '200',
    REFUSED,
  ])
})

describe('the secret itself is stored', () => {
  test('sealed, for its client alone', async () => {
    const { clientId, clientSecret } = await createClient(one, registered)
    const sealed = (await storedOf(clientId))[0]!.sealed!
    expect(Buffer.from(sealed.split('.')[1]!, 'base64url').toString('latin1')).not.toContain(clientSecret)
    const other = await createClient(one, registered)
    await one.database.query('update client_secrets set sealed = $2 where client_id = $1', [
      other.clientId,
      sealed,
    ])
    await clients.update(other.clientId, { client_name: 'Other' })
    expect(await ask(other.clientId, clientSecret)).toBe(REFUSED)
    expect(one.output()).not.toContain(clientSecret)
  })

  test('of no client with another method', async () => {
    const { clientId } = await createClient(one, { scope: ['read'] })
    expect(await storedOf(clientId)).toMatchObject([{ sealed: null }])
    expect(await ask(clientId, 's'.repeat(64))).toBe(REFUSED)
  })

  test('until the method is another: then it ends', async () => {
    const { clientId, clientSecret, basic } = await createClient(one, registered)
    await clients.update(clientId, { token_endpoint_auth_method: 'client_secret_basic' })
    expect(await storedOf(clientId)).toEqual([])
    expect((await requestToken(one, { clientId, clientSecret, basic })).status).toBe(401)
    expect(await ask(clientId, clientSecret)).toBe(REFUSED)
    const { client_secret: next } = await clients.rotateSecret(clientId)
    expect(await storedOf(clientId)).toMatchObject([{ sealed: null }])
    await clients.update(clientId, { token_endpoint_auth_method: METHOD })
    expect(await ask(clientId, next!)).toBe(REFUSED)
    expect(await storedOf(clientId)).toEqual([])
    const { client_secret: last } = await clients.rotateSecret(clientId)
    expect(await ask(clientId, last!)).toBe('200')
  })

  test('from the moment on that one is given with the method', async () => {
    const { clientId } = await createClient(one, { scope: ['read'], grant_types: ['client_credentials'] })
    await clients.update(clientId, { token_endpoint_auth_method: METHOD, client_secret: CHOSEN })
    expect(await ask(clientId, CHOSEN)).toBe('200')
  })
})

test('a secret that is replaced goes on for as long as was said', async () => {
  const { clientId, clientSecret } = await createClient(one, registered)
  const { client_secret: next } = await clients.rotateSecret(clientId, 3600)
  expect([await ask(clientId, clientSecret), await ask(clientId, next!)]).toEqual(['200', '200'])
  const { client_secret: last } = await clients.rotateSecret(clientId)
  expect([await ask(clientId, clientSecret), await ask(clientId, next!), await ask(clientId, last!)]).toEqual(
    [REFUSED, REFUSED, '200'],
  )
})

test('the command line makes one, and replaces its secret', async () => {
  const run = async (...command: string[]): Promise<{ client_id: string; client_secret: string }> => {
    const { status, stdout } = await runCommandHere(command, one.settings)
    expect(status).toBe(0)
    return JSON.parse(stdout) as { client_id: string; client_secret: string }
  }
  const how = [
    '--token-endpoint-auth-method',
    METHOD,
    '--scope',
    'seeded',
    '--grant-types',
    'client_credentials',
  ]
  const made = await run('client', 'create', ...how, '--json')
  const introspecting = async (secret: string): Promise<number> => {
    const client_assertion = await make(made.client_id, secret)
    const client_assertion_type = 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer'
    return (await one.post('/introspect', { token: 'none', client_assertion, client_assertion_type })).status
  }
  expect(await introspecting(made.client_secret)).toBe(200)
  const replaced = await run('client', 'rotate-secret', made.client_id, '--json')
  expect(await introspecting(replaced.client_secret)).toBe(200)
  await expect.poll(async () => introspecting(made.client_secret)).toBe(401)
})

test('an app that registers itself gets one that is sealed, and another when it changes its method', async () => {
  const register = async (
    path: string,
    method: string,
    body: object,
    headers: Record<string, string> = {},
  ): Promise<Record<string, string>> => {
    const response = await one.request(path, {
      method,
      headers: { 'content-type': 'application/json', ...headers },
      body: JSON.stringify(body),
    })
    return { ...((await response.json()) as Record<string, string>), status: String(response.status) }
  }
  const members = { redirect_uris: ['https://self.example/cb'], token_endpoint_auth_method: METHOD }
  const made = await register('/register', 'POST', members)
  expect(made).toMatchObject({ status: '201', token_endpoint_auth_method: METHOD })
  expect(await storedOf(made['client_id']!)).toMatchObject([{ sealed: expect.any(String) as string }])
  const path = new URL(made['registration_client_uri']!).pathname
  const bearer = { authorization: `Bearer ${made['registration_access_token']}` }
  const basic = {
    ...members,
    token_endpoint_auth_method: 'client_secret_basic',
    client_id: made['client_id'],
  }
  const changed = await register(path, 'PUT', basic, bearer)
  expect(changed).toMatchObject({ status: '200', token_endpoint_auth_method: 'client_secret_basic' })
  expect(changed['client_secret']).not.toBe(made['client_secret'])
  expect(await storedOf(made['client_id']!)).toMatchObject([{ sealed: null }])
})

test('SEED_FILE keeps the secret at a start, and seals the one that it has when the method changes', async () => {
  const again = async (client: object) => {
    const PORT = await freePort()
    const { close } = await startServer(
      { ...one.settings, PORT, SEED_FILE: undefined },
      { database: one.database, seed: { clients: [client] } },
    )
    await close()
  }
  const before = await storedOf('seeded')
  await again(seed.clients[0]!)
  expect(await storedOf('seeded')).toEqual(before)
  const basic = { ...seed.clients[0]!, token_endpoint_auth_method: 'client_secret_basic' }
  await again(basic)
  expect(await storedOf('seeded')).toMatchObject([{ sealed: null }])
  await again(seed.clients[0]!)
  expect(await storedOf('seeded')).toMatchObject([{ sealed: expect.any(String) as string }])
  await expect.poll(async () => ask('seeded', CHOSEN)).toBe('200')
})

test('left out, it is not advertised, and its clients are refused', async () => {
  const { clientId, clientSecret, basic } = await createClient(one, registered)
  const PORT = await freePort()
  await startServer(
    { ...one.settings, PORT, WITHOUT: 'latchkey-client-secret-jwt' },
    { database: one.database },
  )
  const without = requestsTo(`http://127.0.0.1:${PORT}`)
  const document = await (await without.get('/.well-known/openid-configuration')).text()
  expect(document).not.toMatch(/client_secret_jwt|"HS256"/)
  expect(await ask(clientId, clientSecret, 'HS256', without)).toBe(REFUSED)
  expect((await requestToken(without, { clientId, clientSecret, basic })).status).toBe(401)
})

test('with the next SECRET_KEY a secret is sealed anew where it is used, and without the one before it is refused', async () => {
  const used = await createClient(one, registered)
  const unused = await createClient(one, registered)
  const start = async (SECRET_KEY: string): Promise<Requests & { output(): string }> => {
    const PORT = await freePort()
    const { output } = await startServer({ ...one.settings, SECRET_KEY, PORT }, { database: one.database })
    return { ...requestsTo(`http://127.0.0.1:${PORT}`), output }
  }
  const both = await start(`${'n'.repeat(32)},${'o'.repeat(32)}`)
  const [before] = await storedOf(used.clientId)
  expect(await ask(used.clientId, used.clientSecret, 'HS256', both)).toBe('200')
  await expect.poll(async () => (await storedOf(used.clientId))[0]!.sealed).not.toBe(before!.sealed)
  expect(await ask(used.clientId, used.clientSecret, 'HS256', both)).toBe('200')
  const after = await start('n'.repeat(32))
  expect(await ask(used.clientId, used.clientSecret, 'HS256', after)).toBe('200')
  expect(await ask(unused.clientId, unused.clientSecret, 'HS256', after)).toBe(REFUSED)
  expect(after.output()).toContain('SECRET_KEY: the secret of a client cannot be decrypted')
})
