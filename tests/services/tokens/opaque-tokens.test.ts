import { randomBytes } from 'node:crypto'
import { expect, test } from 'vitest'
import { createUuid, NIL } from '../../../src/protocol/uuid.ts'
import { createOpaqueToken, parseOpaqueToken } from '../../../src/services/tokens/opaque-tokens.ts'

test('a token names the Authorization that it is stored under', () => {
  const id = createUuid()
  expect(parseOpaqueToken(createOpaqueToken(id))).toMatchObject({ authorizationId: id, alone: false })
})

test('a token of no Authorization has a place of its own, and says that it is alone there', () => {
  const [one, other] = [createOpaqueToken(), createOpaqueToken()].map((token) => parseOpaqueToken(token)!)
  expect([one, other]).toMatchObject([{ alone: true }, { alone: true }])
  expect(one!.authorizationId).not.toBe(other!.authorizationId)
})

test('a token of an earlier version names nothing, and stands alone with all of its kind', () => {
  const bare = `lka_${randomBytes(32).toString('base64url')}`
  expect(parseOpaqueToken(bare)).toMatchObject({ authorizationId: NIL, alone: true })
})
