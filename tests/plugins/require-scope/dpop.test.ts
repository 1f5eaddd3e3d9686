// DPoP in an app of somebody else's: `senderConstraints: [dpop({ origin })]`, with or without nonces and a store of their own.
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { isSameAddress } from '../../../plugins/require-scope/dpop/address.ts'
import { createProofKeys } from '../../../plugins/require-scope/dpop/proof-keys.ts'
import { createSeenProofs } from '../../../plugins/require-scope/dpop/seen-proofs.ts'
import { dpop, VerificationUnavailable, type DpopOptions } from '../../../plugins/require-scope/index.ts'
import { createDpopKey, prove } from '../../support/dpop.ts'
import { bearer, fakeClock, issuedBy, startApp, startIssuer } from './support.ts'

const ORIGIN = 'https://api.example'
const BOOKS = `${ORIGIN}/books`
const [mine, thiefs] = [await createDpopKey(), await createDpopKey()]

interface Shown {
  key?: typeof mine
  nonce?: string | undefined
  url?: string
  /** In place of a proof that is made. */
  proof?: string
}

async function ground(options: Partial<DpopOptions> = {}, now = Date.now) {
  const issuer = await startIssuer()
  const constraint = dpop({ origin: ORIGIN, now, ...options })
  const resource = BOOKS
  const app = await startApp({ issuer: issuer.url, resource, senderConstraints: [constraint], now })
  const clock = { now, advance: () => {} }
  const tokenFor = async (jkt?: string): Promise<string> =>
    issuer.token(
      issuedBy(clock, { scope: 'read_books', audience: resource, claims: { cnf: jkt && { jkt } } }),
    )
  const proofOf = async (token: string, { key = mine, nonce, url = BOOKS }: Shown = {}): Promise<string> =>
    prove(key, { method: 'GET', url, token, nonce, claims: { iat: Math.floor(now() / 1000) } })
  return {
    app,
    tokenFor,
    proofOf,
    async ask(token: string, { scheme = 'DPoP', ...shown }: Shown & { scheme?: string } = {}) {
      const headers = {
        authorization: `${scheme} ${token}`,
        dpop: shown.proof ?? (await proofOf(token, shown)),
      }
      const { statusCode, headers: got, json } = await app.inject({ url: '/books?page=1', headers })
      return {
        status: statusCode,
        error: json<{ error?: string }>().error,
        nonce: got['dpop-nonce'] as string | undefined,
        challenge: String(got['www-authenticate']),
      }
    },
  }
}

test('a bound token passes for who holds its key, once with each proof', async () => {
  const { ask, tokenFor, proofOf } = await ground()
  const token = await tokenFor(mine.thumbprint)
  const proof = await proofOf(token)
  expect(await ask(token, { proof })).toMatchObject({ status: 200 })
  expect(await ask(token, { proof })).toMatchObject({ status: 401, error: 'invalid_dpop_proof' })
  expect(await ask(token, { scheme: 'dpop' })).toMatchObject({ status: 200 })
  expect(await ask(token, { key: thiefs })).toMatchObject({ status: 401, error: 'invalid_token' })
  expect(await ask(token, { url: 'https://other.example/books' })).toMatchObject({
    status: 401,
    error: 'invalid_dpop_proof',
  })
  const asBearer = await ask(token, { scheme: 'Bearer' })
  expect(asBearer).toMatchObject({ status: 401, error: 'invalid_token' })
  expect(asBearer.challenge).toMatch(/^Bearer [^D]*error="invalid_token".*, DPoP realm="[^"]+", algs="ES256 /)
})

test('a route with several guards asks for one proof, and each guard for its scopes', async () => {
  const { app, proofOf, tokenFor } = await ground()
  const first = app.requireScope('read_books')
  const after = (scope: string) => ({ onRequest: first, preHandler: app.requireScope(scope) })
  app.get('/both', after('read_books'), async () => ({ fine: true }))
  app.get('/more', after('burn_books'), async () => ({ fine: true }))
  const token = await tokenFor(mine.thumbprint)
  const ask = async (url: string, proof?: string) => {
    const shown = proof ?? (await proofOf(token, { url: `${ORIGIN}${url}` }))
    const { statusCode, json } = await app.inject({ url, headers: { authorization: `DPoP ${token}`, dpop: shown } })
    return [statusCode, json<{ error?: string }>().error]
  }
  const proof = await proofOf(token, { url: `${ORIGIN}/both` })
  expect(await ask('/both', proof)).toEqual([200, undefined])
  expect(await ask('/both', proof)).toEqual([401, 'invalid_dpop_proof'])
  expect(await ask('/more')).toEqual([403, 'insufficient_scope'])
}) // prettier-ignore

test.each([
  [-61, 401],
  [-55, 200],
  [25, 200],
  [35, 401],
])('a proof whose iat is %i s from now: %i', async (seconds, status) => {
  const { ask, tokenFor } = await ground()
  const token = await tokenFor(mine.thumbprint)
  const iat = Math.floor(Date.now() / 1000) + seconds
  const proof = await prove(mine, { method: 'GET', url: BOOKS, token, claims: { iat } })
  expect((await ask(token, { proof })).status).toBe(status)
})

test('unbound tokens pass as bearer tokens, unless every token must be bound', async () => {
  const { app, tokenFor, ask } = await ground()
  const token = await tokenFor()
  expect((await app.inject({ url: '/books', headers: bearer(token) })).statusCode).toBe(200)
  expect(await ask(token)).toMatchObject({ status: 401, error: 'invalid_token' })

  const strict = await ground({ required: true })
  const plain = await strict.tokenFor()
  const refused = await strict.app.inject({ url: '/books', headers: bearer(plain) })
  expect([refused.statusCode, refused.json()]).toMatchObject([401, { error: 'invalid_token' }])
  // No bearer token can pass (RFC 9449 §7.1).
  const challenge = String(refused.headers['www-authenticate'])
  expect(challenge).toMatch(/^DPoP realm="[^"]+", algs="ES256 [^"]+", error="invalid_token"/)
  expect(challenge).not.toContain('Bearer')
  for (const headers of [{}, bearer('mal formed'), { authorization: 'Basic eDp5' }]) {
    const answer = await strict.app.inject({ url: '/books', headers })
    expect(answer.headers['www-authenticate']).toMatch(/^DPoP realm="[^"]+", algs="ES256 [^B]+$/)
  }
  const bound = await strict.tokenFor(mine.thumbprint)
  expect(await strict.ask(bound)).toMatchObject({ status: 200 })
  const document = (await strict.app.inject('/.well-known/oauth-protected-resource')).json<object>()
  expect(document).toMatchObject({
    dpop_bound_access_tokens_required: true,
    dpop_signing_alg_values_supported: expect.arrayContaining(['ES256']),
  })
})

test('an API may have several names, and algorithms of its own choice', async () => {
  const origin = [ORIGIN, 'https://books.example:8443']
  const { ask, tokenFor } = await ground({ origin, algorithms: ['PS256'] })
  const key = await createDpopKey('PS256')
  const token = await tokenFor(key.thumbprint)
  for (const one of origin)
    expect(await ask(token, { key, url: `${one}/books` })).toMatchObject({ status: 200 })
  expect(await ask(token)).toMatchObject({ status: 401, error: 'invalid_dpop_proof' })
})

test('nonces: one is asked for, ages, is followed by the next, and ends', async () => {
  const clock = fakeClock(Math.ceil(Date.now() / 120_000) * 120_000)
  const { ask, tokenFor } = await ground({ nonceSecret: 'x'.repeat(32) }, clock.now)
  const token = await tokenFor(mine.thumbprint)
  const told = await ask(token)
  expect(told).toMatchObject({
    status: 401,
    error: 'use_dpop_nonce',
    nonce: expect.stringMatching(/^[\w-]{43}$/),
  })
  expect(told.challenge).toMatch(/^DPoP [^B]*error="use_dpop_nonce"/)
  const nonce = told.nonce!
  clock.advance(119)
  expect(await ask(token, { nonce })).toMatchObject({ status: 200, nonce: undefined })
  clock.advance(1)
  const { status, nonce: next } = await ask(token, { nonce })
  expect([status, next]).toEqual([200, expect.not.stringContaining(nonce)])
  expect(await ask(token, { nonce: next })).toMatchObject({ status: 200, nonce: undefined })
  clock.advance(120)
  expect(await ask(token, { nonce })).toMatchObject({ status: 401, error: 'use_dpop_nonce' })
  expect(await ask(token, { nonce: next })).toMatchObject({ status: 200 })
  // From a process whose clock is ahead by less than that.
  clock.advance(-240)
  expect(await ask(token, { nonce: next })).toMatchObject({ status: 200, nonce: undefined })
  for (const made of ['', 'x', 'ü'.repeat(43), nonce.toLowerCase()])
    expect([made, (await ask(token, { nonce: made })).status]).toEqual([made, 401])
})

test('processes that share a secret and a store are one', async () => {
  const seen = new Set<string>()
  const once = async (proof: string, until: Date): Promise<boolean> => {
    expect(until.getTime() - Date.now()).toBeGreaterThan(55_000)
    const isFirst = !seen.has(proof)
    seen.add(proof)
    return isFirst
  }
  const [one, two] = [await ground({ once }), await ground({ once })]
  const token = await one.tokenFor(mine.thumbprint)
  const proof = await one.proofOf(token)
  expect(await one.ask(token, { proof })).toMatchObject({ status: 200 })
  const other = await two.tokenFor(mine.thumbprint)
  const claims = JSON.parse(Buffer.from(proof.split('.')[1]!, 'base64url').toString()) as { jti: string }
  const again = await prove(mine, { method: 'GET', url: BOOKS, token: other, claims: { jti: claims.jti } })
  expect(await two.ask(other, { proof: again })).toMatchObject({ status: 401, error: 'invalid_dpop_proof' })
})

test('a store that cannot tell refuses nothing for good', async () => {
  const { ask, tokenFor } = await ground({
    once() {
      throw new VerificationUnavailable({ retryAfter: 7 })
    },
  })
  expect(await ask(await tokenFor(mine.thumbprint))).toMatchObject({
    status: 503,
    error: 'temporarily_unavailable',
  })
})

test('of keys whose proofs were good, the last thousand are kept, under no name but their own', () => {
  const keys = createProofKeys()
  const jwkOf = (n: number) => ({ kty: 'EC', crv: 'P-256', x: `x${n}`, y: `y${n}` })
  for (let n = 0; n < 1500; n++) keys.keep(keys.read(jwkOf(n), 'ES256')!)
  const isKept = (n: number): boolean => keys.read(jwkOf(n), 'ES256') === keys.read(jwkOf(n), 'ES256')
  expect([isKept(0), isKept(499), isKept(500), isKept(1499), isKept(1500)]).toEqual([
    false,
    false,
    true,
    true,
    false,
  ])
  expect(keys.read({ ...jwkOf(1499), y: 'another' }, 'ES256')?.kid).not.toBe(
    keys.read(jwkOf(1499), 'ES256')?.kid,
  )
})

test('what is remembered in the process is forgotten in time, and has a bound', () => {
  const clock = fakeClock()
  const once = createSeenProofs(clock.now, 1000)
  const inAMinute = (): Date => new Date(clock.now() + 60_000)
  for (let i = 0; i < 1000; i++) expect(once(`proof ${i}`, inAMinute())).toBe(true)
  // To forget one that still counts would let it in again.
  expect(() => once('another', inAMinute())).toThrow(VerificationUnavailable)
  for (let i = 0; i < 1000; i++) expect(once(`proof ${i}`, inAMinute())).toBe(false)
  clock.advance(61)
  for (let i = 0; i < 1000; i++) expect(once(`another ${i}`, inAMinute())).toBe(true)
})

test.each([
  [{ origin: 'https://api.example/v1' }, 'origin'],
  [{ origin: 'api.example' }, 'origin'],
  [{ origin: [] }, 'origin'],
  [{ origin: undefined }, 'origin'],
  [{}, 'origin'],
  [{ origin: [ORIGIN, undefined] }, 'origin'],
  [{ origin: 'ftp://api.example' }, 'origin'],
  [undefined, 'options'],
  [null, 'options'],
  [{ origin: ORIGIN, required: 'true' }, 'required must be true or false'],
  [{ origin: ORIGIN, require: true }, 'there is no option require'],
  [{ origin: ORIGIN, algorithms: 'ES256' }, 'algorithms'],
  [{ origin: ORIGIN, nonceSecret: 5 }, 'nonceSecret'],
  [{ origin: ORIGIN, once: true }, 'once must be a function'],
  [{ origin: ORIGIN, now: 5 }, 'now must be a function'],
  [{ origin: ORIGIN, algorithms: ['none'] }, 'none'],
  [{ origin: ORIGIN, algorithms: ['RS256'] }, 'RS256'],
  [{ origin: ORIGIN, algorithms: [] }, 'algorithms'],
  [{ origin: ORIGIN, nonceSecret: 'short' }, 'nonceSecret'],
])('options that cannot be meant are refused: %j', (options, named) => {
  expect(() => dpop(options as DpopOptions)).toThrow(new RegExp(`^dpop: .*${named}`))
})

const SAME: [htu: string, target: string][] = [
  [`${ORIGIN}/a`, '/a?x=1'],
  [`${ORIGIN}/a?x=1#y`, '/a'],
  [`${ORIGIN}:443/a`, '/a'],
  ['HTTPS://API.EXAMPLE/a', '/a'],
  [ORIGIN, '/'],
  [`${ORIGIN}?x`, '/'],
  [`${ORIGIN}/%7ea/%2Fb`, '/~a/%2fb'],
  [`${ORIGIN}/x/../a/./b`, '/a/b'],
  [`${ORIGIN}/a`, '/x/../a'],
  [`${ORIGIN}/a`, 'https://api.example/a'],
]
const DIFFERENT: [htu: unknown, target: string][] = [
  [`${ORIGIN}/a/`, '/a'],
  [`${ORIGIN}/A`, '/a'],
  [`${ORIGIN}/a%2Fb`, '/a/b'],
  [`${ORIGIN}//a`, '/a'],
  [`${ORIGIN}:444/a`, '/a'],
  ['http://api.example/a', '/a'],
  ['https://api.example.evil.example/a', '/a'],
  ['https://evil@api.example/a', '/a'],
  ['https:api.example/a', '/a'],
  ['https:\\\\api.example\\a', '/a'],
  [' https://api.example/a', '/a'],
  ['https://api.example/a\t', '/a'],
  ['//api.example/a', '/a'],
  ['/a', '/a'],
  ['', '/'],
  [undefined, '/a'],
  [7, '/a'],
  ['https://evil.example/a', 'https://evil.example/a'],
  [`${ORIGIN}/a`, 'https://evil.example/a'],
  [`${ORIGIN}/a`, '//evil.example/a'],
  [`${ORIGIN}/${'a'.repeat(3000)}`, `/${'a'.repeat(3000)}`],
]

test.each(SAME)('%s is the address of %s', (htu, target) => {
  expect(isSameAddress(htu, [ORIGIN], target)).toBe(true)
})
test.each(DIFFERENT)('%s is not the address of %s', (htu, target) => {
  expect(isSameAddress(htu, [ORIGIN], target)).toBe(false)
})
test('whatever is named, another origin is never ours', () => {
  fc.assert(
    fc.property(fc.webUrl(), fc.webPath(), (url, path) => {
      expect(isSameAddress(url, [ORIGIN], path)).toBe(false)
    }),
  )
  fc.assert(
    fc.property(fc.webPath(), (path) => {
      const target = path === '' ? '/' : path
      expect(isSameAddress(`${ORIGIN}${target}?a#b`, [ORIGIN], target)).toBe(true)
    }),
  )
})
