import fc from 'fast-check'
import { expect, test } from 'vitest'
import { legalDescription, OAuthError } from '../../src/protocol/errors.ts'

const LEGAL = /^[\x20-\x21\x23-\x5b\x5d-\x7e]*$/

test('any text becomes a legal description, and a legal one stays as it is', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), (text) => {
      const legal = legalDescription(text)
      expect(legal).toMatch(LEGAL)
      expect(legalDescription(legal)).toBe(legal)
    }),
  )
  expect(legalDescription('say "ä\\b"\r\n')).toBe("say '?/b'??")
})

test('an error is its code and description on the wire, and never its cause', () => {
  const error = new OAuthError('invalid_grant', 'it "was" used', { cause: new Error('secret') })
  expect(JSON.stringify(error)).toBe(`{"error":"invalid_grant","error_description":"it 'was' used"}`)
  expect((error.cause as Error).message).toBe('secret')
  expect(new OAuthError('invalid_grant', 'x')).not.toHaveProperty('cause')
})

test.each([
  ['invalid_request', 400],
  ['invalid_grant', 400],
  ['invalid_client', 401],
  ['invalid_token', 401],
  ['insufficient_scope', 403],
  ['access_denied', 403],
  ['server_error', 500],
  ['temporarily_unavailable', 503],
  ['made_up_by_a_plugin', 400],
  ['toString', 400],
])('%s has the status %i', (code, status) => {
  expect(new OAuthError(code, '').status).toBe(status)
})

test('503 says when to come back, and options win over what a code stands for', () => {
  expect(new OAuthError('temporarily_unavailable', '').headers).toEqual({ 'retry-after': '2' })
  expect(new OAuthError('x', '', { status: 429, retryAfter: 30, headers: { a: 'b' } })).toMatchObject({
    status: 429,
    headers: { 'retry-after': '30', a: 'b' },
  })
  expect(new OAuthError('x', '').headers).toEqual({})
})

test.each(['', 'a"b', 'a\\b', 'a\nb', 'é'])(
  'a code with illegal characters is a mistake of ours: %j',
  (code) => {
    expect(() => new OAuthError(code, '')).toThrow(TypeError)
  },
)
