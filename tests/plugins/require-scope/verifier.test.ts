import { expect, test } from 'vitest'
import type { AccessToken, Verifier } from '../../../plugins/require-scope/index.ts'
import { BearerError, VerificationUnavailable } from '../../../plugins/require-scope/index.ts'
import { bearer, challenge, startApp } from './support.ts'

const token: AccessToken = {
  issuer: 'https://as.example',
  subject: 'ada',
  clientId: 'web',
  scopes: new Set(['read_books']),
  audience: ['https://as.example'],
  issuedAt: new Date(),
  expiresAt: new Date(Date.now() + 60_000),
  claims: {},
}

function verifierOf(answers: Record<string, AccessToken | Error>): Verifier {
  return {
    async verify(presented) {
      const answer = answers[presented] ?? new BearerError('invalid_token', 'The token was revoked')
      if (answer instanceof Error) throw answer
      return answer
    },
  }
}

test("a verifier of one's own decides whether a token is genuine; audience, scope, expiry and cnf stay with the guard", async () => {
  const answers = {
    good: token,
    elsewhere: { ...token, audience: ['https://b.example'] },
    expired: { ...token, expiresAt: new Date() },
    bound: { ...token, claims: { cnf: {} } },
    narrow: { ...token, scopes: new Set<string>() },
    away: new VerificationUnavailable({ retryAfter: 7 }),
    broken: new Error('secret detail of a database'),
  }
  const app = await startApp({ verifier: verifierOf(answers), audience: 'https://as.example' })
  const statuses: Record<string, number> = {}
  for (const name of [...Object.keys(answers), 'revoked']) {
    statuses[name] = (await app.inject({ url: '/books', headers: bearer(name) })).statusCode
  }
  expect(statuses).toEqual({
    good: 200,
    elsewhere: 401,
    expired: 401,
    bound: 401,
    narrow: 403,
    away: 503,
    broken: 500,
    revoked: 401,
  })
})

test.each([
  [{ ...token, expiresAt: new Date(Number.NaN) }, 401],
  [undefined, 500],
  [null, 500],
  [true, 500],
  [{ ...token, scopes: ['read_books'] }, 500],
  [{ ...token, scopes: undefined }, 500],
  [{ ...token, claims: undefined }, 500],
  [{ ...token, claims: null }, 500],
  [{ ...token, audience: 'https://as.example' }, 500],
  [{ ...token, expiresAt: Date.now() + 60_000 }, 500],
  [{ ...token, expiresAt: undefined }, 500],
])('a verifier that answers no usable token, %j: %i', async (answer, status) => {
  const errors: Error[] = []
  const verifier = { verify: async () => answer as AccessToken }
  const app = await startApp({ verifier, audience: 'https://as.example' }, (app) => {
    app.setErrorHandler(async (error: Error) => {
      errors.push(error)
      throw error
    })
    app.get('/books', { config: { scope: 'read_books' } }, async () => 'secret')
  })
  const response = await app.inject({ url: '/books', headers: bearer('any') })
  expect(response.statusCode).toBe(status)
  const sentence =
    status === 401 ? /^The token has expired$/ : /^requireScope: the verifier answered no token that has /
  expect(errors.map(({ message }) => message)).toEqual([expect.stringMatching(sentence)])
})

test('what the verifier says reaches the caller, its cause does not', async () => {
  const cause = new Error('row 17')
  const app = await startApp({
    verifier: verifierOf({ a: new BearerError('invalid_token', 'The "token"\r\nwas revoked', { cause }) }),
    audience: 'https://as.example',
  })
  const response = await app.inject({ url: '/books', headers: bearer('a') })
  expect(challenge(response.headers['www-authenticate'])).toMatchObject({
    realm: 'https://as.example',
    error_description: 'The \\"token\\"??was revoked',
  })
  expect(response.body).not.toContain('row 17')
})

test('a verifier that cannot tell gives 503 with Retry-After, and no challenge', async () => {
  const app = await startApp({
    verifier: verifierOf({ a: new VerificationUnavailable({ retryAfter: 7 }) }),
    audience: 'https://as.example',
  })
  const response = await app.inject({ url: '/books', headers: bearer('a') })
  expect(response.headers['retry-after']).toBe('7')
  expect(response.headers['www-authenticate']).toBeUndefined()
  expect(response.headers['cache-control']).toBe('no-store')
  expect(response.json()).toEqual({
    error: 'temporarily_unavailable',
    error_description: 'The token cannot be verified at the moment',
  })
})
