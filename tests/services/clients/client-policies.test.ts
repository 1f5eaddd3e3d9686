import { Type } from 'typebox'
import { expect, test } from 'vitest'
import { OAuthError } from '../../../src/protocol/errors.ts'
import { createClientPolicies } from '../../../src/services/clients/client-policies.ts'
import { createDoorRegistry } from '../../../src/doors/registry.ts'
import { recordingLog } from '../../support/log.ts'

const client = (members: object = {}) => ({
  clientId: 'c',
  redirectUris: [],
  scope: [],
  metadata: {},
  ...members,
})

function policies(production = false) {
  const doors = createDoorRegistry()
  const { log, output } = recordingLog()
  return { doors, output, ...createClientPolicies(doors, production, log) }
}

test('a grant of a plugin is known once it is registered, and not warned of', async () => {
  const { doors, check, output } = policies()
  const wanted = client({ grantTypes: ['urn:example:voucher'] })
  await expect(check(wanted, true)).rejects.toThrow(
    'grant_types names urn:example:voucher, which no plugin serves here',
  )
  doors.registerGrant({
    type: 'urn:example:voucher',
    parameters: Type.Object({}),
    authorize: () => Promise.reject(new Error('unused')),
  })
  await check(wanted, true)
  expect(output()).toBe('')
})

test("a plugin's own check sees the whole metadata and may refuse it", async () => {
  const { extend, check, schemas } = policies()
  const schema = Type.Object({ shelf: Type.Integer() })
  extend(schema, ({ shelf, client_id }) => {
    if (shelf === 13)
      throw new OAuthError('invalid_client_metadata', `shelf of ${client_id as string} is unlucky`)
  })
  expect(schemas()).toEqual([schema])
  await check(client({ metadata: { shelf: 12 } }), true)
  await expect(check(client({ metadata: { shelf: 13 } }), true)).rejects.toThrow('shelf of c is unlucky')
})

test('addresses without https are refused in a production start alone', () => {
  expect(() => policies(true).assertInsecureAllowed(['redirect_uris'])).toThrow(
    'redirect_uris must use https',
  )
  expect(() => policies(true).assertInsecureAllowed([])).not.toThrow()
  expect(() => policies(false).assertInsecureAllowed(['redirect_uris'])).not.toThrow()
})

test('an address that this server will not ask is warned of when it is sent, with the setting that lets it be asked', () => {
  const { log, output } = recordingLog()
  const { warnOf } = createClientPolicies(createDoorRegistry(), false, log, undefined, ['http://localhost:1'])
  const sent = (backchannel_logout_uri: string) => ({ insecure: [], members: { backchannel_logout_uri } })
  for (const uri of ['https://app.example/out', 'http://localhost:1/out']) warnOf('shop', sent(uri))
  expect(output()).toBe('')
  warnOf('shop', sent('http://localhost:4310/out'))
  expect(JSON.parse(output())).toMatchObject({
    client: 'shop',
    member: 'backchannel_logout_uri',
    msg: 'an address that this server does not ask: UNSAFE_OUTBOUND_ORIGINS=http://localhost:4310 lets it be asked',
  })
})

test('who needs a secret: those with a method that has one, and those with none set', () => {
  const { needsSecret } = policies()
  const methods = [
    undefined,
    'client_secret_basic',
    'client_secret_post',
    'client_secret_jwt',
    'none',
    'private_key_jwt',
    'tls_client_auth',
  ]
  expect(methods.filter(needsSecret)).toEqual([
    undefined,
    'client_secret_basic',
    'client_secret_post',
    'client_secret_jwt',
  ])
})

test('keys are registered by value or by address, and only what is a set of public ones', async () => {
  const { check } = policies()
  const jwks_uri = 'https://app.example/jwks'
  const of = (metadata: object) => check(client({ metadata }), true)
  await of({ jwks: { keys: [] } })
  await of({ jwks_uri })
  await expect(of({ jwks: { keys: [] }, jwks_uri })).rejects.toThrow('jwks cannot stand beside jwks_uri')
  await expect(of({ jwks: { keys: [{ kty: 'oct', k: 'AAAA' }] } })).rejects.toMatchObject({
    code: 'invalid_client_metadata',
    about: { member: 'jwks' },
  })
})
