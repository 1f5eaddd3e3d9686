import { decodeJwt, decodeProtectedHeader } from 'jose'
import { expect, test } from 'vitest'
import { createTestIssuer } from '../../../plugins/require-scope/testing.ts'
import { bearer, startApp, startIssuer } from './support.ts'

test('a token is what RFC 9068 asks for, and every part of it can be replaced or left out', async () => {
  const issuer = await startIssuer()
  const token = await issuer.token({
    scope: ['a', 'b'],
    audience: ['x'],
    subject: 's',
    clientId: 'c',
    expiresIn: 7,
  })
  const claims = decodeJwt(token)
  expect(claims).toMatchObject({ iss: issuer.url, scope: 'a b', aud: ['x'], sub: 's', client_id: 'c' })
  expect(Number(claims.exp) - Number(claims.iat)).toBe(7)
  expect(decodeProtectedHeader(token)).toEqual({ alg: 'ES256', typ: 'at+jwt', kid: expect.any(String) })
  const odd = await issuer.token({
    claims: { sub: undefined, extra: [1] },
    header: { typ: 'JWT', kid: undefined },
  })
  expect(decodeJwt(odd)).not.toHaveProperty('sub')
  expect(decodeJwt(odd)['extra']).toEqual([1])
  expect(decodeProtectedHeader(odd)).toEqual({ alg: 'ES256', typ: 'JWT' })
})

test('a forged token differs from a good one in its signature only', async () => {
  const issuer = await startIssuer()
  const app = await startApp({ issuer: issuer.url })
  const [good, forged] = [await issuer.token(), await issuer.forge()]
  expect(decodeProtectedHeader(forged)).toEqual(decodeProtectedHeader(good))
  expect((await app.inject({ url: '/any', headers: bearer(good) })).statusCode).toBe(200)
  expect((await app.inject({ url: '/any', headers: bearer(forged) })).statusCode).toBe(401)
})

test('rotating changes the key that signs, and keeps the old one published unless told otherwise', async () => {
  const issuer = await startIssuer({ maxAge: 30 })
  const kids = async (): Promise<string[]> => {
    const response = await fetch(`${issuer.url}/jwks`)
    expect(response.headers.get('cache-control')).toBe('max-age=30')
    return ((await response.json()) as { keys: { kid: string }[] }).keys.map(({ kid }) => kid)
  }
  const [first] = await kids()
  const second = await issuer.rotateKeys()
  expect(await kids()).toEqual([second, first])
  expect(decodeProtectedHeader(await issuer.token()).kid).toBe(second)
  const third = await issuer.rotateKeys({ keepOld: false })
  expect(await kids()).toEqual([third])
})

test('an issuer goes away in three ways, comes back on the same port, and counts what it was asked', async () => {
  const issuer = await startIssuer()
  const ask = async (patience = 60_000): Promise<number> =>
    (await fetch(`${issuer.url}/jwks`, { signal: AbortSignal.timeout(patience) })).status
  expect(await ask()).toBe(200)
  issuer.goOffline()
  await expect(ask()).rejects.toThrow('fetch failed')
  issuer.goOffline('error')
  expect(await ask()).toBe(503)
  issuer.goOffline('hang')
  await expect(ask(200)).rejects.toThrow(/timeout/)
  issuer.goOnline()
  expect(await ask()).toBe(200)
  expect((await fetch(`${issuer.url}/.well-known/openid-configuration`)).status).toBe(200)
  expect((await fetch(`${issuer.url}/nowhere`)).status).toBe(404)
  expect(issuer.requests).toEqual({ metadata: 1, jwks: 4 })
})

test('closing does not wait for connections that were left open', async () => {
  const issuer = await createTestIssuer()
  await (await fetch(`${issuer.url}/jwks`)).text()
  await issuer.close()
  await expect(fetch(`${issuer.url}/jwks`)).rejects.toThrow('fetch failed')
})
