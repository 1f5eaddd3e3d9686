import { expect, test } from 'vitest'
import { instantsOf } from '../../../plugins/require-scope/expiry.ts'
import { bearer, fakeClock, startApp, startIssuer } from './support.ts'

/** A UUIDv7 of this millisecond. */
function uuidV7(milliseconds: number): string {
  const hex = milliseconds.toString(16).padStart(12, '0')
  return `${hex.slice(0, 8)}-${hex.slice(8)}-7abc-8def-0123456789ab`
}

test('a jti that carries the instant of issue gives a token its full lifetime', () => {
  const [jti, iat] = [uuidV7(1_700_000_000_950), 1_700_000_000]
  const issuedAt = 1_700_000_000_950
  expect(instantsOf({ jti, iat, exp: iat + 1 })).toEqual({ issuedAt, expiresAt: issuedAt + 1000 })
  expect(instantsOf({ jti: jti.toUpperCase(), iat, exp: iat })).toEqual({ issuedAt, expiresAt: issuedAt })
})

test('any other jti means that the token ends at exp', () => {
  const instants = { iat: 1_700_000_000, exp: 1_700_000_001 }
  const others = [
    undefined,
    'x',
    uuidV7(1_700_000_001_000),
    uuidV7(1_699_999_999_999),
    uuidV7(1_700_000_000_950).replace('-7', '-4'),
    uuidV7(1_700_000_000_950).replace('-8', '-c'),
    `${uuidV7(1_700_000_000_950)}x`,
  ]
  for (const jti of others) expect(instantsOf({ jti, ...instants }).expiresAt).toBe(1_700_000_001_000)
})

test('times may have fractions (RFC 7519 §2)', async () => {
  const clock = fakeClock(1_800_000_000_000)
  const issuer = await startIssuer()
  const app = await startApp({ issuer: issuer.url, now: clock.now })
  const times = { iat: 1_799_999_999.25, nbf: 1_799_999_999.5, exp: 1_800_000_000.75 }
  const headers = bearer(await issuer.token({ claims: times }))
  const status = async (): Promise<number> => (await app.inject({ url: '/any', headers })).statusCode
  expect(await status()).toBe(200)
  clock.advance(0.749)
  expect(await status()).toBe(200)
  clock.advance(0.001)
  expect(await status()).toBe(401)
  expect(instantsOf({ iat: 1_700_000_000.123, exp: 1_700_000_001.456 })).toEqual({
    issuedAt: 1_700_000_000_123,
    expiresAt: 1_700_000_001_456,
  })
})

test('a token of one second is good until the last millisecond and dead at the next', async () => {
  const clock = fakeClock(1_800_000_000_950)
  const issuer = await startIssuer()
  const app = await startApp({ issuer: issuer.url, now: clock.now })
  const times = { iat: 1_800_000_000, exp: 1_800_000_001 }
  const precise = bearer(await issuer.token({ claims: { ...times, jti: uuidV7(clock.now()) } }))
  const plain = bearer(await issuer.token({ claims: { ...times, jti: 'plain' } }))
  const statusOf = async (headers: { authorization: string }): Promise<number> =>
    (await app.inject({ url: '/any', headers })).statusCode
  expect([await statusOf(precise), await statusOf(plain)]).toEqual([200, 200])
  clock.advance(0.049)
  expect([await statusOf(precise), await statusOf(plain)]).toEqual([200, 200])
  clock.advance(0.001)
  expect([await statusOf(precise), await statusOf(plain)]).toEqual([200, 401])
  clock.advance(0.949)
  expect([await statusOf(precise), await statusOf(plain)]).toEqual([200, 401])
  clock.advance(0.001)
  expect([await statusOf(precise), await statusOf(plain)]).toEqual([401, 401])
})
