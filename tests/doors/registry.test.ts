import { Type } from 'typebox'
import { expect, test } from 'vitest'
import type { ResponseMode } from '../../src/doors/approval.ts'
import type { Call, Grant } from '../../src/doors/back-channel.ts'
import type { ClientAuthentication } from '../../src/doors/client.ts'
import type { Authorization, AccessTokenClaims } from '../../src/doors/facts.ts'
import { parseForm } from '../../src/protocol/wire.ts'
import { createDoorRegistry } from '../../src/doors/registry.ts'
import { KEY_CONSTRAINT } from '../support/key-constraint.ts'

const SUBJECT = { clientId: 'c' } as Authorization
const CALL = { wire: { grant_type: 'x' } } as unknown as Call
const CLAIMS = {} as AccessTokenClaims
const grant = (type: string): Grant => ({
  type,
  parameters: Type.Object({ voucher: Type.String() }),
  authorize: async () => ({ scopes: new Set<string>(), resources: [] }),
})
const method: ClientAuthentication = {
  credentials: [],
  recognizes: () => null,
  authenticate: async () => false,
}

test('a key has one owner: a second one is refused at boot, by its name', () => {
  const doors = createDoorRegistry()
  doors.registerGrant(grant('voucher'))
  expect(() => doors.registerGrant(grant('voucher'))).toThrow('The grant voucher is registered twice.')
  doors.register('clientAuthentication', 'none', method)
  expect(() => doors.register('clientAuthentication', 'none', method)).toThrow(
    'The clientAuthentication none is registered twice.',
  )
  for (const inherited of ['constructor', '__proto__']) doors.registerGrant(grant(inherited))
  expect([...doors.grants.keys()]).toEqual(['voucher', 'constructor', '__proto__'])
  expect(doors.owners('clientAuthentication').get('none')).toBe(method)
})

test('a grant that answers with something else is named in the error, which is for the log', async () => {
  const answers: Readonly<Record<string, unknown>> = {
    list: { scopes: ['read'], resources: [] },
    text: { scopes: 'read', resources: [] },
    short: { scopes: new Set(['read']) },
    nothing: undefined,
    number: { scopes: new Set(['read']), resources: [], subject: 5 },
    nobody: { scopes: new Set(['read']), resources: [], subject: '' },
  }
  const doors = createDoorRegistry()
  for (const [type, answered] of Object.entries(answers)) {
    doors.registerGrant({ ...grant(type), authorize: async () => answered as never })
    await expect(doors.grants.get(type)!.authorize({ voucher: 'v' }, CALL)).rejects.toThrow(
      new TypeError(
        `the grant ${type} must answer with { scopes, resources }, a Set and a list, and a subject that is the id of a user or absent, or with answer(…)`,
      ),
    )
  }
  doors.registerGrant(grant('good'))
  await expect(doors.grants.get('good')!.authorize({ voucher: 'v' }, CALL)).resolves.toMatchObject({
    resources: [],
  })
})

test('a door that there is not is refused, with those that there are', () => {
  const doors = createDoorRegistry()
  const policy = async () => undefined
  expect(() => doors.add('polices' as 'policy', policy)).toThrow(
    'There is no door polices. Those of oauth.add are authorizationCheck, parameter, interactionStep, policy, ',
  )
  expect(() => doors.add('clientAuthentication' as 'policy', policy)).toThrow(
    'The door clientAuthentication is one of oauth.register, not of oauth.add.',
  )
  for (const inherited of ['constructor', '__proto__'])
    expect(() => doors.register(inherited as 'clientAuthentication', 'none', method)).toThrow(
      `There is no door ${inherited}. `,
    )
  expect(() => doors.extend('idtoken' as 'id_token', ['tenant'], async () => ({}))).toThrow(
    'There is no door idtoken. Those of oauth.extend are tokenResponse, access_token, id_token, ',
  )
})

test('a method says what carries its proof, and no handler or other door may read that', () => {
  const doors = createDoorRegistry()
  const { credentials: _none, ...silent } = method
  expect(() => doors.register('clientAuthentication', 'old', silent as ClientAuthentication)).toThrow(
    "The clientAuthentication old must name the parameters that carry its proof: credentials: ['client_assertion']",
  )
  for (const name of ['voucher', 'resource', 'client_id']) {
    const reading = createDoorRegistry()
    reading.registerGrant(grant('voucher'))
    expect(() => reading.register('clientAuthentication', 'a', { ...method, credentials: [name] })).toThrow(
      `The credential ${name} is taken.`,
    )
  }
  for (const key of ['one', 'two'])
    doors.register('clientAuthentication', key, { ...method, credentials: ['client_assertion', 'badge'] })
  expect([...doors.credentials]).toEqual([
    'client_secret',
    'client_assertion',
    'client_assertion_type',
    'badge',
  ])
  expect(() => doors.add('parameter', { name: 'badge', schema: Type.String() })).toThrow(
    'The parameter badge is taken.',
  )
  const stealing = { ...grant('badge'), parameters: Type.Object({ badge: Type.String() }) }
  expect(() => doors.registerGrant(stealing)).toThrow(
    'The parameter badge is taken: it proves who a client is.',
  )
})

test('a response type is registered as it is asked for, and a mode says whether it is in the query', () => {
  const doors = createDoorRegistry()
  const respond = async () => ({})
  expect(() => doors.register('responseType', 'id_token code', { respond })).toThrow(
    'The responseType id_token code must be registered as code id_token.',
  )
  doors.register('responseType', 'code id_token', { respond })
  const old = { send: () => undefined } as unknown as ResponseMode
  expect(() => doors.register('responseMode', 'hash', old)).toThrow(
    'The responseMode hash must say whether its answers are in a query: { inQuery: false, send: (reply, request, answer) => … }.',
  )
})

test('a grant sees only what passed its own parser', async () => {
  const doors = createDoorRegistry()
  doors.registerGrant(grant('voucher'))
  const registered = doors.grants.get('voucher')!
  expect(registered.publicClients).toBe(false)
  await expect(registered.authorize(parseForm('a=b'), {} as never)).rejects.toThrow('voucher is missing')
  await expect(registered.authorize(parseForm('voucher=1'), {} as never)).resolves.toMatchObject({
    resources: [],
  })
})

test('a sender constraint owns its member of cnf, and those of the metadata', () => {
  const doors = createDoorRegistry()
  doors.add('senderConstraint', KEY_CONSTRAINT)
  expect(() => doors.add('senderConstraint', { ...KEY_CONSTRAINT, scheme: 'Other' })).toThrow(
    'The senderConstraint key is taken.',
  )
  expect(() => doors.add('senderConstraint', { ...KEY_CONSTRAINT, confirmation: 'other' })).toThrow(
    'The senderConstraint keys_supported is taken.',
  )
})

test('a plugin that said by itself what a token is bound to is told the door for it', () => {
  const doors = createDoorRegistry()
  for (const [at, member] of [
    ['access_token', 'cnf'],
    ['introspection', 'cnf'],
    ['introspection', 'token_type'],
    ['tokenResponse', 'token_type'],
  ] as const)
    expect(() => doors.extend(at, [member], async () => ({}))).toThrow(
      `The ${at} member ${member} is taken: it follows from oauth.add('senderConstraint', …).`,
    )
})

test('what is ordered is kept in the order of registration', () => {
  const doors = createDoorRegistry()
  expect(doors.all('policy')).toEqual([])
  const [one, two] = [async () => {}, async () => {}]
  doors.add('policy', one)
  doors.add('policy', two)
  expect(doors.all('policy')).toEqual([one, two])
})

test('a contribution never replaces what the server owns, nor what an earlier one gave', async () => {
  const doors = createDoorRegistry()
  doors.extend('access_token', ['first', 'nothing'], async () => ({
    sub: 'root',
    first: 1,
    nothing: undefined,
  }))
  doors.extend('access_token', ['second'], async () => ({
    first: 2,
    second: null,
    ['__proto__']: { polluted: 1 },
  }))
  const owned = { iss: 'us', sub: 'me', scope: '' }
  expect(await doors.withContributions('access_token', SUBJECT, owned, CALL)).toEqual({
    ...owned,
    first: 1,
    second: null,
  })
  expect(owned).toEqual({ iss: 'us', sub: 'me', scope: '' })
  expect(({} as { polluted?: unknown }).polluted).toBeUndefined()
  expect(await doors.withContributions('tokenResponse', SUBJECT, owned, CALL)).toEqual(owned)
})

test.each([
  ['access_token', 'act'],
  ['access_token', 'parent'],
  ['introspection', 'act'],
] as const)('of %s the member %s is ours', (document, member) => {
  expect(() => createDoorRegistry().extend(document, [member], async () => ({}))).toThrow(
    `The ${document} member ${member} is taken.`,
  )
})

test('a contribution gets the request that is answered', async () => {
  const doors = createDoorRegistry()
  doors.extend('access_token', ['by'], async (_subject, _document, { wire }) => ({ by: wire['grant_type'] }))
  expect(await doors.withContributions('access_token', SUBJECT, {}, CALL)).toEqual({ by: 'x' })
})

test('members of a response that grants name are theirs together, and nobody else has them', async () => {
  const doors = createDoorRegistry()
  const giving = (type: string, members: string[]): Grant => ({
    ...grant(type),
    members,
    authorize: async () => ({ scopes: new Set(), resources: [], response: { kind: 'of token', other: 1 } }),
  })
  doors.registerGrant(giving('one', ['kind']))
  doors.registerGrant(giving('two', ['kind']))
  const granted = await doors.grants.get('one')!.authorize(parseForm('voucher=v'), CALL)
  expect(granted).toMatchObject({ response: { kind: 'of token' } })
  expect(granted).not.toHaveProperty('response.other')
  const taken = 'The tokenResponse member kind is taken'
  expect(() => doors.extend('tokenResponse', ['kind'], async () => ({}))).toThrow(taken)
  expect(() => doors.registerGrant(giving('three', ['access_token']))).toThrow(
    'The tokenResponse member access_token is taken',
  )
  doors.extend('tokenResponse', ['theirs'], async () => ({}))
  expect(() => doors.registerGrant(giving('four', ['theirs']))).toThrow(
    'The tokenResponse member theirs is taken',
  )
})

test('a contribution that fails fails the whole', async () => {
  const doors = createDoorRegistry()
  doors.extend('introspection', ['any'], () => Promise.reject(new Error('no')))
  await expect(doors.withContributions('introspection', { claims: CLAIMS }, {}, CALL)).rejects.toThrow('no')
})

test('once the server has started nothing can be registered any more', () => {
  const doors = createDoorRegistry()
  doors.close()
  expect(() => doors.registerGrant(grant('voucher'))).toThrow(
    'The grant voucher must be registered before the server is ready',
  )
  expect(() => doors.register('clientAuthentication', 'none', method)).toThrow('before the server is ready')
  expect(() => doors.add('policy', async () => {})).toThrow('before the server is ready')
  expect(() => doors.extend('metadata', async () => ({}))).toThrow('A contribution to metadata must be')
})
