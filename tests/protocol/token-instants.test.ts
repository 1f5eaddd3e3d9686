/** When a token was issued, and when it ends: the same here and in `@latchkey/require-scope`, which stands by itself. */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import {
  instantsOf as elsewhere,
  issueInstant as issueInstantElsewhere,
} from '../../plugins/require-scope/expiry.ts'
import { instantsOf, issueInstant } from '../../src/protocol/token-instants.ts'
import { createUuid } from '../../src/protocol/uuid.ts'

const SECOND = 1_700_000_000

test('the server and the package that others run agree on every token', () => {
  const jti = fc.oneof(
    fc.integer({ min: -1500, max: 2500 }).map((off) => createUuid(SECOND * 1000 + off)),
    fc.uuid(),
    fc.string(),
    fc.constantFrom(undefined),
  )
  fc.assert(
    fc.property(jti, fc.integer({ min: -1, max: 1 }), fc.nat(), (id, off, lifetime) => {
      const iat = SECOND + off
      const instants = { jti: id, iat, exp: iat + lifetime }
      expect(instantsOf(instants)).toEqual(elsewhere(instants))
      expect(issueInstant(instants)).toBe(issueInstantElsewhere(instants))
    }),
  )
})

test('a token of one second lives for one second', () => {
  const jti = createUuid(SECOND * 1000 + 950)
  expect(instantsOf({ jti, iat: SECOND, exp: SECOND + 1 })).toEqual({
    issuedAt: SECOND * 1000 + 950,
    expiresAt: SECOND * 1000 + 1950,
  })
})
