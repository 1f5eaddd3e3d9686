/** A signing key that others have: what they make with it counts no longer once it is replaced, and not at all once it is revoked. */
import { fastify } from 'fastify'
import { decodeProtectedHeader } from 'jose'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect, test } from 'vitest'
import requireScope from '../../plugins/require-scope/index.ts'
import { kernelOf } from '../../src/http/kernel-of.ts'
import { atEndOfFile } from '../support/cleanup.ts'
import { createDatabase } from '../support/database.ts'
import { underLoad } from '../support/load.ts'
import { bearer, requestsTo } from '../support/requests.ts'
import { startServer, type TestServer } from '../support/server.ts'
import {
  GUARDED,
  GUARDED_SCOPE,
  getAccessToken,
  isActive,
  revoke,
  statusOf,
  statusOfRoute,
  toClient,
} from '../support/service.ts'
import { authorizationUrl, getTokens, refresh, SEED, WEB } from '../support/sign-in.ts'
import { forge, publishedKids } from '../support/signing-keys.ts'
import { createUserAgent } from '../support/user-agent.ts'

const settings = { PLUGINS: GUARDED, OIDC_INTROSPECTION_VALIDATE_AUDIENCE_SCOPE: false, OIDC_KEY_PUBLISH: 3 }
const OPAQUE = { ...WEB, client_id: 'opaque', access_token_format: 'opaque', scope: [GUARDED_SCOPE] }
const clients = [{ ...WEB, scope: [GUARDED_SCOPE, 'token_introspection'] }, OPAQUE]
const seed = { ...SEED, clients, scopes: [{ name: GUARDED_SCOPE }] }
const web = toClient(WEB)

async function startTwo(): Promise<[TestServer, TestServer]> {
  const database = await createDatabase()
  const one = await startServer(settings, { database, seed })
  return [one, await startServer({ ...one.settings, PORT: 0 }, { database })]
}

/** Where a token of ours is taken. */
async function takenAt(server: TestServer, token: string, hint?: string): Promise<string[]> {
  const places: Record<string, boolean> = {
    userinfo: (await statusOf(server.get('/userinfo', bearer(token)))) === 200,
    introspection: await isActive(server, web, token),
    'a guarded route': (await statusOfRoute(server, token)) === 200,
    ...(hint === undefined
      ? {}
      : { id_token_hint: await isHint(server, hint), 'sign-out': await isSignOut(server, hint) }),
  }
  return Object.keys(places).filter((place) => places[place])
}

async function isHint(server: TestServer, hint: string): Promise<boolean> {
  const page = await createUserAgent(server.url).get(authorizationUrl(server, { id_token_hint: hint }))
  return page.status === 200 && page.body.includes('id="login"')
}

async function isSignOut(server: TestServer, hint: string): Promise<boolean> {
  return (
    (await statusOf(
      server.get(`/end-session?${new URLSearchParams({ id_token_hint: hint }).toString()}`),
    )) === 200
  )
}

const EVERYWHERE = ['userinfo', 'introspection', 'a guarded route', 'id_token_hint', 'sign-out']

test('what a replaced key signs after its successor began counts nowhere, what it signed before counts on', async () => {
  const [one, two] = await startTwo()
  const { keys } = kernelOf(one.server)
  const tokens = await getTokens(one, { scope: `openid ${GUARDED_SCOPE}` })
  const [access, id] = [keys.signer('ES256'), keys.signer('RS256')]
  const before = Date.now()
  for (const algorithm of ['ES256', 'RS256']) await keys.rotate(algorithm, 0)
  // By so much clocks may differ.
  await sleep(5_500)
  for (const server of [one, two]) {
    const [late, lateHint] = [await forge(access, tokens.access_token), await forge(id, tokens.id_token)]
    expect(await takenAt(server, late, lateHint)).toEqual([])
    const [early, hint] = [
      await forge(access, tokens.access_token, before),
      await forge(id, tokens.id_token, before),
    ]
    expect(await takenAt(server, early, hint)).toEqual(EVERYWHERE)
  }
  // What is nobody's cannot be revoked either: that is a success which ends nothing (RFC 7009 §2.2).
  expect(await statusOf(revoke(one, web, await forge(access, tokens.access_token)))).toBe(200)
  expect(await statusOf(refresh(one, tokens.refresh_token))).toBe(200)
})

test('no honest token is refused while a process has not heard of the new key yet', async () => {
  const [one, two] = await startTwo()
  const refused: unknown[] = []
  const load = underLoad(async () => {
    for (const [here, there] of [
      [one, two],
      [two, one],
    ] as const) {
      const token = await getAccessToken(here, web)
      if (!(await isActive(there, web, token))) refused.push(decodeProtectedHeader(token))
    }
  }, 2)
  await load.more(5)
  // At once, so that the other process signs with the former one until its next poll.
  for (let count = 0; count < 4; count++) {
    await one.server.oauth.keys.rotate('ES256', 0)
    await load.more(20)
  }
  await load.stop()
  expect(refused).toEqual([])
})

test('a revoked key is refused at once with all that it signed, in every process; another signs', async () => {
  const [one, two] = await startTwo()
  const { keys, audit } = kernelOf(one.server)
  const tokens = await getTokens(one, { scope: `openid ${GUARDED_SCOPE}` })
  const opaque = await getAccessToken(one, toClient(OPAQUE))
  const [access, id] = [keys.signer('ES256'), keys.signer('RS256')]
  for (const server of [one, two])
    expect(await takenAt(server, tokens.access_token, tokens.id_token)).toEqual(EVERYWHERE)

  for (const { kid } of [access, id])
    expect(await keys.revoke(kid)).toMatchObject({ kid, revokedAt: expect.any(Number) as number })
  await expect.poll(() => kernelOf(two.server).keys.find(id.kid)).toBeUndefined()
  for (const server of [one, two]) {
    expect(await takenAt(server, tokens.access_token, tokens.id_token)).toEqual([])
    expect(await publishedKids(server)).toEqual([keys.signer('ES256').kid])
    // What is not signed goes on: refresh tokens and opaque ones.
    expect(await isActive(server, web, opaque)).toBe(true)
    const fresh = await getAccessToken(server, web)
    expect(decodeProtectedHeader(fresh).kid).toBe(keys.signer('ES256').kid)
    for (const there of [one, two]) expect(await isActive(there, web, fresh)).toBe(true)
  }
  expect(await statusOf(refresh(two, tokens.refresh_token))).toBe(200)
  const { events } = await audit.list({ type: 'key.revoked' })
  expect(events.map(({ details }) => details)).toEqual([
    { kid: id.kid, algorithm: 'RS256', successor: keys.signer('RS256').kid },
    { kid: access.kid, algorithm: 'ES256', successor: keys.signer('ES256').kid },
  ])
  expect(JSON.stringify(events)).not.toMatch(/"d"|private/)
})

test('a foreign API refuses it once its copy of the JWKS ends', async () => {
  const one = await startServer(settings, { seed })
  const clock = { ahead: 0 }
  const api = fastify()
  await api.register(requireScope, { issuer: one.url, now: () => Date.now() + clock.ahead })
  api.get('/shelf', { config: { scope: GUARDED_SCOPE } }, async () => ({}))
  atEndOfFile(async () => api.close())
  const foreign = requestsTo(await api.listen({ host: '127.0.0.1', port: 0 }))
  const token = await getAccessToken(one, web)
  expect(await statusOf(foreign.get('/shelf', bearer(token)))).toBe(200)
  const { keys } = kernelOf(one.server)
  await keys.revoke(keys.signer('ES256').kid)
  expect(await statusOf(foreign.get('/shelf', bearer(token)))).toBe(200)
  expect(/max-age=(\d+)/.exec((await one.get('/jwks')).headers.get('cache-control') ?? '')?.[1]).toBe('30')
  clock.ahead = 31_000
  expect(await statusOf(foreign.get('/shelf', bearer(token)))).toBe(401)
  expect(await statusOf(foreign.get('/shelf', bearer(await getAccessToken(one, web))))).toBe(200)
})
