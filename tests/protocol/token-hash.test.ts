import { createHash } from 'node:crypto'
import { expect, test } from 'vitest'
import { tokenHash } from '../../src/protocol/token-hash.ts'

test('the examples of OpenID Connect Core: at_hash of A.3, c_hash and at_hash of A.4', () => {
  expect(tokenHash('jHkWEdUXMU1BwAsC4vtUsZwnNvTIxEl0z9K3vx5KF0Y', 'RS256')).toBe('77QmUPtjPfzWtF2AnpK9RQ')
  expect(tokenHash('Qcb0Orv1zh30vL1MPRsbm-diHiMwcLyZvn1arpZv-Jxf_11jnpEX3Tgfvk', 'RS256')).toBe(
    'LDktKdoQak3Pk0cnXxCltA',
  )
})

test.each([
  ['ES256', 'sha256'],
  ['PS384', 'sha384'],
  ['RS512', 'sha512'],
  ['EdDSA', 'sha512'],
])('%s uses %s', (algorithm, name) => {
  const whole = createHash(name).update('token').digest()
  expect(Buffer.from(tokenHash('token', algorithm), 'base64url')).toEqual(whole.subarray(0, whole.length / 2))
})

test('ML-DSA uses SHAKE256', () => {
  const whole = createHash('shake256', { outputLength: 64 }).update('token').digest()
  for (const algorithm of ['ML-DSA-44', 'ML-DSA-65'])
    expect(Buffer.from(tokenHash('token', algorithm), 'base64url')).toEqual(whole.subarray(0, 32))
})

test.each(['none', '', 'ES2560', 'Ed448'])('%j has no hash', (algorithm) => {
  expect(() => tokenHash('token', algorithm)).toThrow('names no hash')
})
