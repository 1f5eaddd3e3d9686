import fc from 'fast-check'
import { Type } from 'typebox'
import { expect, test } from 'vitest'
import { parseMetadata } from '../../src/protocol/client-metadata.ts'
import { OAuthError } from '../../src/protocol/errors.ts'
import { attempt } from '../support/attempt.ts'

const URI = 'https://client.example/cb'

test('redirect_uri is redirect_uris, and a scope string is a list', () => {
  expect(parseMetadata({ redirect_uri: URI, scope: ' b a  b' }).members).toEqual({
    redirect_uris: [URI],
    scope: ['b', 'a'],
  })
  expect(() => parseMetadata({ redirect_uri: URI, redirect_uris: ['https://other.example/'] })).toThrow(
    /redirect_uri/,
  )
})

test('absent, undefined and null members are absent; unknown ones are named', () => {
  expect(parseMetadata({ client_name: null, scope: undefined, x: 1, __proto: 2 })).toEqual({
    members: {},
    unknown: ['x', '__proto'],
    insecure: [],
  })
})

test.each([
  [{ redirect_uris: ['/cb'] }, 'invalid_redirect_uri', 'redirect_uris must be an absolute URI'],
  [{ redirect_uris: [`${URI}#a`] }, 'invalid_redirect_uri', 'redirect_uris must not have a fragment'],
  [{ redirect_uri: 'javascript:alert(1)' }, 'invalid_redirect_uri', 'must not use the scheme javascript:'],
  [{ redirect_uris: 1 }, 'invalid_redirect_uri', 'redirect_uris'],
  [{ client_name: '' }, 'invalid_client_metadata', 'client_name'],
  [{ client_name: ' \u3164\u200b' }, 'invalid_client_metadata', 'client_name must not be empty'],
  [{ client_name: 1 }, 'invalid_client_metadata', 'client_name'],
  [{ client_name: 'a\0b' }, 'invalid_client_metadata', 'client_name must not hold NUL'],
  [{ client_name: '\ud800' }, 'invalid_client_metadata', 'client_name must not hold NUL or broken Unicode'],
  [{ client_id: '' }, 'invalid_client_metadata', 'client_id'],
  [{ client_id: 'ü' }, 'invalid_client_metadata', 'client_id'],
  [{ client_id: 'a'.repeat(257) }, 'invalid_client_metadata', 'client_id'],
  [{ client_secret: 'a'.repeat(1025) }, 'invalid_client_metadata', 'client_secret'],
  [{ scope: ['a b'] }, 'invalid_client_metadata', 'scope must hold scope names'],
  [{ scope: ['"'] }, 'invalid_client_metadata', 'scope must hold scope names'],
  [{ scope: 7 }, 'invalid_client_metadata', 'scope'],
  [{ logo_uri: 'javascript:alert(1)' }, 'invalid_client_metadata', 'logo_uri must be an absolute http'],
  [
    { policy_uri: 'https://accounts.bank.example:x@evil.example/p' },
    'invalid_client_metadata',
    'policy_uri must not carry a user name or password',
  ],
  [{ client_uri: 'https://me@app.example' }, 'invalid_client_metadata', 'client_uri must not carry a user'],
  [{ policy_uri: '/policy' }, 'invalid_client_metadata', 'policy_uri must be an absolute http'],
  [{ access_token_format: 'paseto' }, 'invalid_client_metadata', 'access_token_format'],
  [{ default_max_age: Infinity }, 'invalid_client_metadata', 'default_max_age'],
  [{ default_max_age: -1 }, 'invalid_client_metadata', 'default_max_age'],
  [{ jwks: [] }, 'invalid_client_metadata', 'jwks'],
  [{ post_logout_redirect_uris: ['data:x'] }, 'invalid_client_metadata', 'post_logout_redirect_uris'],
])('refused with the field and the reason: %j', (metadata, code, message) => {
  expect(() => parseMetadata(metadata)).toThrow(
    expect.objectContaining({ code, message: expect.stringContaining(message) }),
  )
})

test.each([null, undefined, 1, 'a', []])('metadata that is no object is refused: %j', (input) => {
  expect(() => parseMetadata(input)).toThrow('must be an object')
})

test('http to another host is allowed here and named', () => {
  expect(parseMetadata({ redirect_uris: ['http://client.example/cb', URI] }).insecure).toEqual([
    'redirect_uris',
  ])
})

test('a member of a plugin is known once its schema is, and checked by it', () => {
  const schema = Type.Object({ shelf: Type.Integer({ minimum: 1 }) })
  expect(parseMetadata({ shelf: 2 }, [schema]).members).toEqual({ shelf: 2 })
  expect(parseMetadata({ shelf: 2 }).unknown).toEqual(['shelf'])
  expect(() => parseMetadata({ shelf: 0 }, [schema])).toThrow('shelf')
})

test('any value of any member is taken or refused by an OAuthError, and never pollutes', () => {
  const names = [
    'client_id',
    'client_name',
    'redirect_uri',
    'redirect_uris',
    'scope',
    'jwks',
    'logo_uri',
    'default_max_age',
    '__proto__',
    'constructor',
  ]
  fc.assert(
    fc.property(fc.constantFrom(...names), fc.anything(), (name, value) => {
      const { error } = attempt(() => parseMetadata(Object.fromEntries([[name, value]])))
      expect(error instanceof OAuthError || error === undefined).toBe(true)
      expect(({} as { polluted?: unknown }).polluted).toBeUndefined()
    }),
    { numRuns: 1000 },
  )
})
