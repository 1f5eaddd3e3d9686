/**
 * A plugin may bring a copy of our packages along; what it throws must mean here what it means there. A query makes
 * Node load a module a second time.
 */
import { expect, test } from 'vitest'
import { BearerError, VerificationUnavailable } from '../../plugins/require-scope/bearer-error.ts'
import { OAuthError } from '../../src/protocol/errors.ts'

async function secondCopy<Module>(path: string): Promise<Module> {
  return (await import(new URL(`${path}?copy`, import.meta.url).href)) as Module
}

test('an error of another copy of the package is one of ours', async () => {
  const copy = await secondCopy<{ OAuthError: typeof OAuthError }>('../../src/protocol/errors.ts')
  expect(copy.OAuthError).not.toBe(OAuthError)
  expect(new copy.OAuthError('invalid_grant', 'spent')).toBeInstanceOf(OAuthError)
  expect(new OAuthError('invalid_grant', 'spent')).toBeInstanceOf(copy.OAuthError)
})

test('a refusal and an outage of another copy are told apart', async () => {
  type Copy = { BearerError: typeof BearerError; VerificationUnavailable: typeof VerificationUnavailable }
  const copy = await secondCopy<Copy>('../../plugins/require-scope/bearer-error.ts')
  const refusal = new copy.BearerError('invalid_token', 'no')
  const outage = new copy.VerificationUnavailable()
  expect(refusal).toBeInstanceOf(BearerError)
  expect(refusal).not.toBeInstanceOf(VerificationUnavailable)
  expect(outage).toBeInstanceOf(VerificationUnavailable)
  expect(outage).not.toBeInstanceOf(BearerError)
})

test('a subclass has only its own instances, and nothing else passes for an error of ours', () => {
  class VoucherError extends OAuthError {}
  const own = new VoucherError('voucher_spent', 'spent')
  expect(own).toBeInstanceOf(VoucherError)
  expect(own).toBeInstanceOf(OAuthError)
  expect(new OAuthError('invalid_grant', 'spent')).not.toBeInstanceOf(VoucherError)
  for (const other of [
    null,
    undefined,
    'OAuthError',
    {},
    Object.assign(new Error('x'), { name: 'OAuthError' }),
  ])
    expect(other).not.toBeInstanceOf(OAuthError)
})
