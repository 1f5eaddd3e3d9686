import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  parseClaimsRequest,
  requestedAcr,
  requestedClaims,
  requestedNames,
  requestedSubjects,
  type ClaimsRequest,
} from '../../src/protocol/claims-request.ts'
import { OAuthError } from '../../src/protocol/errors.ts'

const parse = (document: unknown) => parseClaimsRequest(JSON.stringify(document))

/** The example of OpenID Connect Core §5.5. */
const example = {
  userinfo: {
    given_name: { essential: true },
    nickname: null,
    email: { essential: true },
    email_verified: { essential: true },
    picture: null,
    'http://example.info/claims/groups': null,
  },
  id_token: {
    auth_time: { essential: true },
    acr: { values: ['urn:mace:incommon:iap:silver'] },
  },
}

test('the example of the specification is read as it is', () => {
  const request = parse(example)
  expect(request).toEqual(example)
  expect(JSON.parse(JSON.stringify(request))).toEqual(request)
  const user = {
    given_name: 'Ada',
    email: 'a@b',
    nickname: '',
    'http://example.info/claims/groups': ['x'],
    name: 'n',
  }
  expect(requestedClaims(request, 'userinfo', user)).toEqual({
    given_name: 'Ada',
    email: 'a@b',
    email_verified: false,
    'http://example.info/claims/groups': ['x'],
  })
  expect(requestedClaims(request, 'id_token', user)).toEqual({})
  expect(requestedAcr(request)).toEqual({ essential: false, values: ['urn:mace:incommon:iap:silver'] })
  expect([...requestedNames(request)]).toEqual([
    ...Object.keys(example.userinfo),
    ...Object.keys(example.id_token),
  ])
})

test('what is not known is ignored', () => {
  expect(parse({ other: 1, userinfo: null, id_token: { name: { purpose: 'x', essential: false } } })).toEqual(
    {
      userinfo: {},
      id_token: { name: { essential: false } },
    },
  )
})

test.each([
  ['', 'JSON'],
  ['{', 'JSON'],
  ['[]', 'must be a JSON object'],
  ['null', 'must be a JSON object'],
  ['"x"', 'must be a JSON object'],
  ['{"userinfo":[]}', 'an object for userinfo'],
  ['{"id_token":"x"}', 'an object for id_token'],
  ['{"id_token":{"name":true}}', 'null or an object'],
  ['{"id_token":{"name":[]}}', 'null or an object'],
  ['{"id_token":{"name":{"essential":"yes"}}}', 'no boolean'],
  ['{"id_token":{"name":{"values":"x"}}}', 'no array'],
  ['{"id_token":{"__proto__":null}}', 'forbidden'],
  ['{"__proto__":{"userinfo":{}}}', 'forbidden'],
  ['{"id_token":{"acr":{"essential":true,"value":"2"}},"id_token":{}}', 'a member twice'],
  ['{"id_token":{"sub":{"value":"a","value":"b"}}}', 'a member twice'],
  [String.raw`{"id_token":{"name":{"value":"\u0000"}}}`, 'NUL'],
  [String.raw`{"id_token":{"\ud800":null}}`, 'Unicode'],
  ['['.repeat(4000) + ']'.repeat(4000), 'too long'],
  ['['.repeat(2000) + ']'.repeat(2000), 'too deeply'],
  [`{"userinfo":{${Array.from({ length: 101 }, (_, at) => `"c${at}":null`).join(',')}}}`, 'too many'],
])('%j is refused', (text, words) => {
  expect(() => parseClaimsRequest(text)).toThrow(expect.objectContaining({ code: 'invalid_request' }))
  expect(() => parseClaimsRequest(text)).toThrow(words)
})

describe('a demanded value', () => {
  const user = { name: 'Ada', address: { locality: 'London', country: 'UK' } }

  test.each<[object, object]>([
    [{ name: { value: 'Ada' } }, { name: 'Ada' }],
    [{ name: { value: 'Grace' } }, {}],
    [{ name: { values: ['Grace', 'Ada'] } }, { name: 'Ada' }],
    [{ name: { values: [] } }, {}],
    [{ address: { value: { country: 'UK', locality: 'London' } } }, { address: user.address }],
    [{ constructor: null, toString: null, hasOwnProperty: null }, {}],
  ])('%j', (userinfo, claims) => {
    expect(requestedClaims(parse({ userinfo }), 'userinfo', user)).toEqual(claims)
  })
})

test.each<[object, readonly unknown[] | undefined]>([
  [{}, undefined],
  [{ id_token: { sub: null } }, undefined],
  [{ id_token: { sub: { essential: true } } }, undefined],
  [{ id_token: { sub: { value: 'a' } } }, ['a']],
  [{ userinfo: { sub: { value: 'a' } } }, ['a']],
  [{ id_token: { sub: { values: ['a', 'b'] } }, userinfo: { sub: { value: 'b' } } }, ['b']],
  [{ id_token: { sub: { value: 'a' } }, userinfo: { sub: { value: 'b' } } }, []],
])('the subjects of %j', (document, subjects) => {
  expect(requestedSubjects(parse(document))).toEqual(subjects)
})

test.each<[object, object | undefined]>([
  [{}, undefined],
  [{ userinfo: { acr: null } }, undefined],
  [{ id_token: { acr: null } }, { essential: false, values: [] }],
  [{ id_token: { acr: { essential: true, values: ['1', 2] } } }, { essential: true, values: ['1', '2'] }],
  [{ id_token: { acr: { essential: true, value: null } } }, { essential: true, values: ['null'] }],
  [{ id_token: { acr: { essential: true, value: '1' } } }, { essential: true, values: ['1'] }],
])('the acr of %j', (document, acr) => {
  expect(requestedAcr(parse(document))).toEqual(acr)
})

/** Undefined where it is refused as it must be; anything else that is thrown is. */
function attempt(text: string): ClaimsRequest | undefined {
  try {
    return parseClaimsRequest(text)
  } catch (error) {
    if (error instanceof OAuthError && error.code === 'invalid_request') return undefined
    throw error
  }
}

test('nothing that is sent breaks it: an answer, or invalid_request', () => {
  const one = fc.oneof(
    fc.constant(null),
    fc.record(
      {
        essential: fc.oneof(fc.boolean(), fc.string()),
        value: fc.jsonValue(),
        values: fc.array(fc.jsonValue()),
      },
      { requiredKeys: [] },
    ),
    fc.jsonValue(),
  )
  const name = fc.oneof(
    fc.constantFrom('sub', 'acr', 'name', 'address', '__proto__', 'constructor'),
    fc.string(),
  )
  const place = fc.oneof(fc.dictionary(name, one), fc.jsonValue())
  const document = fc.record({ userinfo: place, id_token: place }, { requiredKeys: [] })
  const text = fc.oneof(
    fc.string(),
    fc.json(),
    document.map((value) => JSON.stringify(value)),
  )
  const user = fc.dictionary(name, fc.jsonValue())
  fc.assert(
    fc.property(text, user, (sent, claims) => {
      const request = attempt(sent)
      if (request === undefined) return
      for (const where of ['userinfo', 'id_token'] as const)
        for (const key of Object.keys(requestedClaims(request, where, claims)))
          expect(Object.keys(request[where])).toContain(key)
      expect(() => [requestedSubjects(request), requestedAcr(request)]).not.toThrow()
    }),
    { numRuns: 500 },
  )
})
