import { expect, test } from 'vitest'
import { VerificationKey } from '../../../plugins/require-scope/verification-keys.ts'
import { VerifiedTokens } from '../../../plugins/require-scope/verified-tokens.ts'

const entry = {
  token: { algorithm: 'ES256', kid: 'k', type: 'at+jwt', claims: {} },
  key: new VerificationKey('k', { kty: 'EC', crv: 'P-256' }, undefined),
}

test('the cache is bounded, and forgets what was not used for longest', () => {
  const cache = new VerifiedTokens()
  for (let i = 0; i < 1000; i++) cache.add(`f${i}`, entry)
  expect(cache.find('f0')).toBe(entry)
  cache.add('one more', entry)
  expect([cache.find('f0'), cache.find('f1'), cache.find('one more')]).toEqual([entry, undefined, entry])
})

test('a fingerprint is the SHA-256 of the token, and says nothing else about it', () => {
  expect(VerifiedTokens.fingerprint('abc')).toBe('ungWv48Bz-pBQUDeXa4iI7ADYaOWF3qctBD_YfIAFa0')
})
