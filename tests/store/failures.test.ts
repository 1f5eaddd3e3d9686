import { expect, test } from 'vitest'
import { isDuplicate, isRetryable, isUnavailable, sqlState } from '../../src/store/failures.ts'

const failure = (code: string, cause?: unknown): Error =>
  Object.assign(new Error('it failed', { cause }), { code })
const wrapped = (error: Error): Error => new Error('the ORM says', { cause: error })

test.each([
  ['40001', 'serialization_failure'],
  ['40P01', 'deadlock_detected'],
])('%s (%s) is tried again, and is 503 when that was in vain', (code) => {
  for (const error of [failure(code), wrapped(failure(code))])
    expect([isRetryable(error), isUnavailable(error)]).toEqual([true, true])
})

test.each([
  '08006', '08P01', '53100', '53200', '53300', '57P01', '57P02', '57P03', '58030', '25006', '55P03', '57014',
  'ECONNREFUSED', 'ECONNRESET', 'EPIPE', 'ENOENT', 'ETIMEDOUT', 'ENOTFOUND', 'EAI_AGAIN', 'EHOSTUNREACH',
  'ERR_TLS_CERT_ALTNAME_INVALID', 'ERR_SSL_WRONG_VERSION_NUMBER', 'CERT_HAS_EXPIRED', 'DEPTH_ZERO_SELF_SIGNED_CERT', 'SELF_SIGNED_CERT_IN_CHAIN',
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE', 'UNABLE_TO_GET_ISSUER_CERT_LOCALLY', 'INVALID_PURPOSE', 'HOSTNAME_MISMATCH', 'ERROR_IN_CERT_NOT_AFTER_FIELD',
])('%s is an absent database, not to be tried at once', (code) => {
  for (const error of [failure(code), wrapped(wrapped(failure(code)))]) expect([isRetryable(error), isUnavailable(error)]).toEqual([false, true])
}) // prettier-ignore

test.each([
  'Connection terminated unexpectedly',
  'timeout exceeded when trying to connect',
  'Query read timeout',
  'Client has encountered a connection error and is not queryable',
  'Cannot use a pool after calling end on the pool',
])('what the driver says without a code is known by its words: %s', (message) => {
  expect(isUnavailable(wrapped(new Error(message)))).toBe(true)
})

test('several addresses that all refuse are an absent database', () => {
  expect(isUnavailable(new AggregateError([failure('ECONNREFUSED'), failure('ECONNREFUSED')]))).toBe(true)
  expect(isUnavailable(new AggregateError([new Error('other')]))).toBe(false)
})

test('23505 is a duplicate and nothing else', () => {
  expect([
    isDuplicate(wrapped(failure('23505'))),
    isUnavailable(failure('23505')),
    isRetryable(failure('23505')),
  ]).toEqual([true, false, false])
  expect(isDuplicate(failure('23503'))).toBe(false)
})

test.each([
  '22021', '22P02', '42P01', '23502', 'ERR_INVALID_ARG_TYPE',
  // Of keys that cannot be read, and of what others use for themselves.
  'ERR_OSSL_UNSUPPORTED', 'ERR_OSSL_PEM_NO_START_LINE', 'INVALID_ARGUMENT', 'HOSTNAME_TAKEN', 'UNABLE_TO_SIGN',
])('%s is a fault of ours', (code) => {
  expect([isRetryable(failure(code)), isUnavailable(failure(code))]).toEqual([false, false])
}) // prettier-ignore

test('what is no error has no state, and a chain without end is not followed', () => {
  for (const value of [undefined, null, 'ECONNRESET', { code: '40001' }, new Error('plain')])
    expect([sqlState(value), isUnavailable(value), isRetryable(value)]).toEqual([undefined, false, false])
  const ring = new Error('ring')
  ring.cause = ring
  expect([sqlState(ring), isUnavailable(ring)]).toEqual([undefined, false])
})
