import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  CLAIMS_BY_SCOPE,
  claimsForScopes,
  parseUserClaims,
  pickClaims,
  StandardClaims,
} from '../../src/protocol/claims.ts'

const ada = {
  name: 'Ada Lovelace',
  given_name: 'Ada',
  nickname: '',
  picture: null,
  updated_at: 1_700_000_000,
  email: 'ada@example.org',
  email_verified: true,
  phone_number: '+44 1',
  address: { locality: 'London', region: '', country: null },
  shelf: 7,
}

describe('claims by scope', () => {
  test.each<[string, object]>([
    ['openid', {}],
    ['profile', { name: 'Ada Lovelace', given_name: 'Ada', updated_at: 1_700_000_000 }],
    ['email', { email: 'ada@example.org', email_verified: true }],
    ['phone', { phone_number: '+44 1', phone_number_verified: false }],
    ['address', { address: { locality: 'London' } }],
    ['shelf constructor __proto__', {}],
  ])('%s', (scope, claims) => {
    expect(claimsForScopes(ada, scope.split(' '))).toEqual(claims)
  })

  test('together they are the standard claims, each under one scope', () => {
    const all = [...CLAIMS_BY_SCOPE.values()].flat()
    expect(new Set(all)).toEqual(new Set(Object.keys(StandardClaims.properties)))
    expect(new Set(all).size).toBe(all.length)
  })

  test.each([
    [{}],
    [{ email: '' }],
    [{ email: null, email_verified: true }],
    [{ address: { locality: '' } }],
  ])('of %j nothing is left: no empty claim, and no flag without what it is about', (user) => {
    expect(claimsForScopes(user, CLAIMS_BY_SCOPE.keys())).toEqual({})
  })

  test('only true is verified', () => {
    for (const flag of [undefined, null, 'true', 1])
      expect(pickClaims({ email: 'a@b', email_verified: flag }, ['email_verified'])).toEqual({
        email_verified: false,
      })
  })
})

describe('what may be stored of a user', () => {
  test('standard claims in their types, others as they are, null for one to be taken away', () => {
    const claims = {
      ...ada,
      address: { region: '' },
      'name#de': 'Ada',
      team: { id: 1, of: ['x'] },
      constructor: 'y',
    }
    expect(parseUserClaims({ ...claims, gone: undefined })).toEqual({ claims, unknown: [] })
  })

  test.each<[string, unknown]>([
    ['name', 1],
    ['name#de', ['Ada']],
    ['email_verified', 'true'],
    ['phone_number_verified', 1],
    ['updated_at', '2026-01-01'],
    ['updated_at', -1],
    ['address', 'London'],
    ['address', { locality: 1 }],
    ['nickname', 'x'.repeat(257)],
    ['email', 'a\0@b'],
    ['shelf', '\ud800'],
    ['shelf', () => 1],
  ])('%s is refused by name for a wrong value', (name, value) => {
    expect(() => parseUserClaims({ [name]: value })).toThrow(name)
  })

  test("the protocol's own are ignored and named", () => {
    const own = JSON.parse('{"sub":"x","iss":"y","exp":1,"sub#de":"z","__proto__":{"a":1},"":1}') as object
    expect(parseUserClaims({ ...own, name: 'Ada' })).toEqual({
      claims: { name: 'Ada' },
      unknown: ['sub', 'iss', 'exp', 'sub#de', '__proto__', ''],
    })
  })

  test('too much of it, or too long a name, is refused', () => {
    expect(() => parseUserClaims({ more: 'x'.repeat(9000) })).toThrow('claims are too long')
    expect(() => parseUserClaims({ ['x'.repeat(201)]: 1 })).toThrow('a claim has a name')
  })
})

test('whatever JSON is given, what comes out is storable and never empty', () => {
  const value = fc.jsonValue({ maxDepth: 3 })
  const user = fc.dictionary(fc.oneof(fc.constantFrom(...Object.keys(ada), 'sub', 'aud'), fc.string()), value)
  fc.assert(
    fc.property(user, (given) => {
      let claims: Record<string, unknown>
      try {
        claims = parseUserClaims(given).claims
      } catch {
        return
      }
      expect(claims).not.toHaveProperty('sub')
      for (const picked of [
        claimsForScopes(claims, CLAIMS_BY_SCOPE.keys()),
        pickClaims(claims, Object.keys(claims)),
      ])
        for (const one of Object.values(picked)) expect([null, '', undefined]).not.toContain(one)
    }),
  )
})
