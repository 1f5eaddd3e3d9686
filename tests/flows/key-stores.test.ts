/**
 * Signing keys in the database, in hardware and at a stranger's service: what a server does with them is the same. And what it does
 * when a store is away, slow, or answers wrongly.
 */
import { compactVerify, createLocalJWKSet, decodeJwt, decodeProtectedHeader, type JSONWebKeySet } from 'jose'
import { describe, expect, onTestFinished, test } from 'vitest'
import { kernelOf } from '../../src/http/kernel-of.ts'
import { exchangeAs, codesOf, refreshAs } from '../support/code-flow.ts'
import { createDatabase, type TestDatabase } from '../support/database.ts'
import { OTHER_STORES, type KeyPlace } from '../support/key-stores.ts'
import { underLoad } from '../support/load.ts'
import { basic, bearer, requestsTo } from '../support/requests.ts'
import { startServer, type TestServer } from '../support/server.ts'
import { GUARDED, GUARDED_SCOPE, getAccessToken, isActive, SIGNED, statusOf, statusOfRoute, toClient } from '../support/service.ts' // prettier-ignore
import { freePort } from '../support/settings.ts'
import { authorizationUrl, getTokens, goThrough, SEED, WEB } from '../support/sign-in.ts'
import { createUserAgent } from '../support/user-agent.ts'

const JWT = 'application/token-introspection+jwt'
const service = { ...SIGNED, scope: [GUARDED_SCOPE, 'token_introspection', 'web', 'padded'] }
const padded = {
  ...WEB,
  client_id: 'padded',
  id_token_signed_response_alg: 'PS256',
  userinfo_signed_response_alg: 'ES384',
  authorization_signed_response_alg: 'ES256',
}
const seed = { ...SEED, clients: [WEB, padded, service] }
const common = {
  PLUGINS: GUARDED,
  OIDC_KEY_PUBLISH: 3,
  OIDC_SIGNED_METADATA: true,
  OIDC_INTROSPECTION_VALIDATE_AUDIENCE_SCOPE: false,
}
const client = toClient(service)

async function start(place: KeyPlace | undefined, more: object = {}, database?: TestDatabase, last: object = {}): Promise<TestServer> {
  const plugins = [GUARDED, place?.settings.PLUGINS ?? []].flat().join(',')
  const settings = { SECRET_KEY: 's'.repeat(40), ...common, ...more, ...place?.settings, ...last, PLUGINS: plugins }
  const server = await startServer(settings, { seed, database: database ?? (await createDatabase()) })
  onTestFinished(async () => server.close())
  return server
} // prettier-ignore
/** A process of the same server, also after the first has ended: asked at a port of its own. */
async function beside(
  place: KeyPlace | undefined,
  { settings, database }: TestServer,
  more: object = {},
): Promise<TestServer> {
  const port = await freePort()
  const server = await start(place, settings, database, { PORT: port, ...more })
  return { ...server, ...requestsTo(`http://127.0.0.1:${port}`) }
}

const keysOf = ({ server }: TestServer) => kernelOf(server).keys
const jwksOf = async (server: TestServer) => (await (await server.get('/jwks')).json()) as JSONWebKeySet
const metadataOf = async (server: TestServer) =>
  (await (await server.get('/.well-known/openid-configuration')).json()) as { signed_metadata?: string }
const kidOf = (jwt: string): string => decodeProtectedHeader(jwt).kid!

/** Verifies it by what is published; returns the algorithm. */
async function algorithmOf(server: TestServer, jwt: string): Promise<string> {
  const { protectedHeader } = await compactVerify(jwt, createLocalJWKSet(await jwksOf(server)))
  return protectedHeader.alg
}

const databaseKeys = { store: 'database', settings: {}, listed: async () => [] } as unknown as KeyPlace
const ALL = [['the database', async () => databaseKeys] as const, ...OTHER_STORES]

describe.each(ALL)('%s', (_name, set) => {
  test('all that a server signs is verified by what it publishes', async () => {
    const place = await set()
    const server = await start(place)
    const secret = basic('padded', WEB.client_secret)
    const tokens = await getTokens(server)
    const code = await codesOf(server)({ client_id: 'padded' })
    const own = await exchangeAs(server, { ...client, clientId: 'padded', basic: secret }, code)
    const userinfo = await server.get('/userinfo', bearer(own.tokens.access_token))
    const introspected = await server.post('/introspect', { token: tokens.access_token }, { ...client.basic, accept: JWT }) // prettier-ignore
    const agent = createUserAgent(server.url)
    const page = await goThrough(
      agent,
      await agent.get(authorizationUrl(server, { client_id: 'padded', response_mode: 'query.jwt' })),
    )
    const jarm = new URL(page.headers.get('location')!).searchParams.get('response')!
    const { signed_metadata = '' } = await metadataOf(server)
    const logout = await server.server.oauth.signStatement({ aud: 'web' }, { typ: 'logout+jwt' })
    const signed = {
      'access token': tokens.access_token,
      'ID token': tokens.id_token,
      'ID token, padded': own.tokens.id_token,
      userinfo: await userinfo.text(),
      introspection: await introspected.text(),
      response: jarm,
      metadata: signed_metadata,
      'logout token': logout,
    }
    const algorithms = Object.fromEntries(
      await Promise.all(
        Object.entries(signed).map(async ([of, jwt]) => [of, await algorithmOf(server, jwt)] as const),
      ),
    )
    expect(algorithms).toEqual({
      'access token': 'ES256',
      'ID token': 'RS256',
      'ID token, padded': 'PS256',
      userinfo: 'ES384',
      introspection: 'RS256',
      response: 'ES256',
      metadata: 'RS256',
      'logout token': 'RS256',
    })
    expect(await statusOfRoute(server, await getAccessToken(server, client))).toBe(200)
    for (const key of keysOf(server).keys()) expect(key.store).toBe(place.store)
    const listed = await place.listed(server.url)
    expect(listed.toSorted()).toEqual(
      place.store === 'database' ? [] : keysOf(server).keys().map(({ reference }) => reference).toSorted(),
    ) // prettier-ignore
    await server.close()
  })

  test('a key is replaced by one that is published first, revoked with what it signed, and the same after a restart', async () => {
    const place = await set()
    const one = await start(place)
    const two = await beside(place, one)
    const old = await getAccessToken(one, client)
    const next = await keysOf(one).rotate('ES256')
    expect((await jwksOf(one)).keys.map(({ kid }) => kid)).toContain(next.kid)
    expect(kidOf(await getAccessToken(one, client))).toBe(kidOf(old))
    for (const server of [one, two])
      await expect.poll(async () => kidOf(await getAccessToken(server, client))).toBe(next.kid) // prettier-ignore
    expect(await isActive(two, client, old)).toBe(true)
    const token = await getAccessToken(two, client)
    await keysOf(one).revoke(next.kid)
    expect(await isActive(one, client, token)).toBe(false)
    await expect.poll(async () => isActive(two, client, token)).toBe(false)
    const fresh = await getAccessToken(one, client)
    expect([kidOf(old), next.kid]).not.toContain(kidOf(fresh))
    expect(await isActive(two, client, fresh)).toBe(true)
    expect(await isActive(one, client, old)).toBe(true)
    expect(await place.listed(one.url)).not.toContain(next.reference)
    await one.close()
    await two.close()
    const again = await beside(place, one)
    expect(await isActive(again, client, fresh)).toBe(true)
    expect(kidOf(await getAccessToken(again, client))).toBe(kidOf(fresh))
  })

  test('processes that begin and rotate at once make one key, and leave none behind', async () => {
    const place = await set()
    const one = await start(place)
    const others = await Promise.all([1, 2].map(async () => beside(place, one)))
    await Promise.all([one, ...others].map(async (server) => keysOf(server).rotate('ES256')))
    await Promise.all([one, ...others].map(async (server) => keysOf(server).provide('ES384')))
    const kids = await one.database.query<{ reference: string; predecessor: string }>(
      'select reference, predecessor from signing_keys',
    )
    expect(new Set(kids.map(({ predecessor }) => predecessor)).size).toBeGreaterThan(1)
    const wanted = place.store === 'database' ? [] : kids.map(({ reference }) => reference).toSorted()
    await expect.poll(async () => (await place.listed(one.url)).toSorted()).toEqual(wanted)
  })
})

describe.each(OTHER_STORES)('%s', (_name, set) => {
  test('away at the start: the server starts, says so, verifies, and signs by itself once it is back', async () => {
    const place = await set()
    const first = await start(place)
    const token = await getAccessToken(first, client)
    await first.close()
    await place.goAway()
    const server = await beside(place, first)
    expect(await isActive(server, client, token)).toBe(true)
    expect((await jwksOf(server)).keys.map(({ kid }) => kid)).toContain(kidOf(token))
    await expect.poll(async () => statusOf(server.get('/readyz'))).toBe(503)
    expect(await (await server.get('/readyz')).json()).toEqual({ status: 'not ready', problems: ['keys'] })
    const refused = await server.post('/token', { grant_type: 'client_credentials' }, client.basic)
    expect([refused.status, Number(refused.headers.get('retry-after')) > 0]).toEqual([503, true])
    expect(await refused.json()).toEqual({
      error: 'temporarily_unavailable',
      error_description: 'the keys that sign do not answer in time; try again',
    })
    await place.comeBack()
    await expect.poll(async () => statusOf(server.get('/readyz'))).toBe(200)
    expect(kidOf(await getAccessToken(server, client))).toBe(kidOf(token))
    expect(server.output()).toContain('the key signs again')
  })

  test('away at the very first start: there is no key, and there are some once it is back', async () => {
    const place = await set()
    await place.goAway()
    const server = await start(place)
    expect((await jwksOf(server)).keys).toEqual([])
    expect(await statusOf(server.get('/readyz'))).toBe(503)
    expect(await statusOf(server.post('/token', { grant_type: 'client_credentials' }, client.basic))).toBe(
      503,
    )
    await place.comeBack()
    await expect.poll(async () => statusOf(server.get('/readyz'))).toBe(200)
    expect(await statusOfRoute(server, await getAccessToken(server, client))).toBe(200)
    // It is signed when it is asked for the next time.
    await expect.poll(async () => (await metadataOf(server)).signed_metadata).toBeDefined()
    expect(await algorithmOf(server, (await metadataOf(server)).signed_metadata!)).toBe('RS256')
  })

  test('away under load: 503 and nothing else, nothing is spent in vain, and it goes on by itself', async () => {
    const place = await set()
    const server = await start(place)
    const web = toClient(WEB)
    const getCode = codesOf(server)
    const { tokens } = await exchangeAs(server, web, await getCode({ scope: 'openid' }))
    const kept = await getCode()
    const answers: [status: number, retryAfter: string | null][] = []
    const load = underLoad(async () => {
      const { status, headers, body } = await server.post('/token', { grant_type: 'client_credentials' }, client.basic) // prettier-ignore
      await body?.cancel()
      answers.push([status, headers.get('retry-after')])
    }, 8)
    await load.more(20)
    await place.goAway()
    await expect.poll(() => answers.at(-1)?.[0]).toBe(503)
    expect((await exchangeAs(server, web, kept)).status).toBe(503)
    expect((await refreshAs(server, web, tokens.refresh_token)).status).toBe(503)
    expect(await statusOf(server.get('/userinfo', bearer(tokens.access_token)))).toBe(200)
    await place.comeBack()
    await expect.poll(() => answers.at(-1)?.[0]).toBe(200)
    await load.more(20)
    await load.stop()
    const others = answers.filter(([status, retryAfter]) => status !== 200 && (status !== 503 || retryAfter === null)) // prettier-ignore
    expect(others).toEqual([])
    const exchanged = await exchangeAs(server, web, kept)
    expect(exchanged.status).toBe(200)
    expect(decodeJwt(exchanged.tokens.id_token).sub).toBeDefined()
    expect((await refreshAs(server, web, tokens.refresh_token)).status).toBe(200)
    expect(server.output()).not.toContain('request failed')
  })

  test('from the database and back: nobody’s token ends', async () => {
    const place = await set()
    const before = await start(undefined)
    const token = await getAccessToken(before, client)
    await before.close()
    const moved = await beside(place, before)
    // Until the new one has been published for long enough, the former signs.
    expect(kidOf(await getAccessToken(moved, client))).toBe(kidOf(token))
    await expect.poll(() => keysOf(moved).signer('ES256').store).toBe(place.store)
    await expect.poll(() => keysOf(moved).signer('RS256').store).toBe(place.store)
    const inStore = await getAccessToken(moved, client)
    expect(kidOf(inStore)).not.toBe(kidOf(token))
    expect(await isActive(moved, client, token)).toBe(true)
    await moved.close()
    const back = await beside(place, before, { KEYS: `database,${String(place.settings.KEYS)}` })
    expect(kidOf(await getAccessToken(back, client))).toBe(kidOf(inStore))
    await expect.poll(() => keysOf(back).signer('ES256').store).toBe('database')
    for (const one of [token, inStore, await getAccessToken(back, client)])
      expect(await isActive(back, client, one)).toBe(true)
    await back.close()
    // What is left of the store is to be verified with; nobody needs it for that.
    const alone = await beside(undefined, before, { KEYS: 'database' })
    expect(await isActive(alone, client, inStore)).toBe(true)
  })

  test('a store that is lost for ever is left without a stop: another key signs at once', async () => {
    const place = await set()
    const first = await start(place)
    const token = await getAccessToken(first, client)
    await first.close()
    await place.goAway()
    const server = await beside(undefined, first, { KEYS: 'database' })
    await expect.poll(async () => statusOf(server.get('/readyz'))).toBe(200)
    expect(await statusOfRoute(server, await getAccessToken(server, client))).toBe(200)
    expect(await isActive(server, client, token)).toBe(true)
    await place.comeBack()
  })

  test('a key whose last token is dead leaves its store too', async () => {
    const place = await set()
    const server = await start(place, { OIDC_KEY_ROTATE: 4 })
    const { reference, kid } = keysOf(server).signer('ES256')
    await keysOf(server).rotate('ES256', 0)
    await server.database.query(`update signing_keys set retires_at = now() - interval '2 days' where kid = $1`, [kid]) // prettier-ignore
    await expect.poll(async () => place.listed(server.url)).not.toContain(reference)
    await expect.poll(async () => server.database.query('select from signing_keys where kid = $1', [kid])).toEqual([]) // prettier-ignore
    await server.close()
  })
})
