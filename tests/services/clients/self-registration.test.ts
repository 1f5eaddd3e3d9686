/** What clients may say of themselves, and what they may not: docs/adr/0047. */
import { expect, test } from 'vitest'
import { Type } from '../../../src/protocol/schema.ts'
import { ClientMetadata } from '../../../src/protocol/client-metadata.ts'
import type { SelfRegistration, SelfRegistrationOptions } from '../../../src/doors/self-registration.ts'
import { rowsWith } from '../../support/left-out.ts'
import { startServer } from '../../support/server.ts'
import { SEED } from '../../support/sign-in.ts'

const URI = 'https://app.example/callback'
const SCOPES = { scopes: [{ name: 'photos' }, { name: 'ledger' }] }

function open(oauth: {
  selfRegistration: (name: string, options: SelfRegistrationOptions) => SelfRegistration
}) {
  const plain = oauth.selfRegistration('plain', { most: 1000 })
  const generous = oauth.selfRegistration('generous', {
    most: 1000,
    scopes: ['photos', 'service', 'nothing'],
    grantTypes: ['authorization_code', 'refresh_token', 'client_credentials', 'urn:example:unserved'],
  })
  return { plain, generous, few: oauth.selfRegistration('few', { most: 2 }) }
}

let doors: ReturnType<typeof open>
const { server, database } = await startServer(
  {},
  {
    seed: { ...SEED, ...SCOPES, clients: [...SEED.clients, { client_id: 'service', scope: ['ledger'] }] },
    extend({ oauth }) {
      doors = open(oauth)
      oauth.register('responseType', 'code id_token', { respond: async () => ({}) })
      oauth.extendClientMetadata(
        Type.Partial(Type.Object({ theme: Type.String({ open: true }), tier: Type.String() })),
        async ({ theme }) => {
          if (theme === 'ugly') throw Object.assign(new Error('a fault of the plugin'))
        },
      )
    },
  },
)
const { clients } = server.oauth
const { plain, generous, few } = doors!

test('what is open is what the standards have, less what would name or trust it', () => {
  const closed = Object.entries(ClientMetadata.properties)
    .filter(([, schema]) => !('open' in schema))
    .map(([name]) => name)
  expect(closed).toEqual([
    'client_id',
    'client_secret',
    'default_scope',
    'default_resource',
    'token_exchange',
    'optional_scopes',
    'access_token_format',
    'show_logo',
    'brand_color',
  ])
})

test('it gets what it did not name: the code flow, a secret, the scopes that the door gives', async () => {
  const {
    client_id: id,
    client_secret,
    ...registered
  } = await generous.create({ redirect_uri: URI, client_name: 'App' })
  expect(client_secret).toMatch(/^lks_/)
  expect(registered).toEqual({
    client_name: 'App',
    redirect_uris: [URI],
    response_types: ['code'],
    grant_types: ['authorization_code', 'refresh_token'],
    scope: 'photos',
    client_id_issued_at: expect.any(Number) as number,
    client_secret_expires_at: 0,
  })
  expect(id).toMatch(/^[0-9a-f-]{36}$/)
  expect(await server.oauth.findClient(id)).toMatchObject({ registrar: 'generous' })
  expect((await server.oauth.findClient('web'))?.registrar).toBeUndefined()
})

test('what the standards and plugins let it set it has, as it was sent', async () => {
  const metadata = {
    redirect_uris: [URI, 'com.example.app:/callback', 'http://127.0.0.1/callback'],
    client_uri: 'http://localhost:3000',
    logo_uri: 'https://app.example/logo.png',
    contacts: ['ann@app.example'],
    jwks_uri: 'https://app.example/jwks',
    subject_type: 'public',
    default_max_age: 60,
    backchannel_logout_uri: 'https://app.example/logout',
    token_endpoint_auth_method: 'none',
    scope: 'openid photos',
    theme: 'dark',
  }
  expect(await generous.create(metadata)).toMatchObject(metadata)
})

test('response types are known by their words, in whatever order an app names them', async () => {
  const asked = { redirect_uris: [URI], response_types: ['id_token code', 'code'] }
  expect(await plain.create(asked)).toMatchObject(asked)
  const unserved = plain.create({ ...asked, response_types: ['token code'] })
  await expect(unserved).rejects.toThrow('response_types names what is not served here')
})

test.each<[string, object, string]>([
  ['a name of its choice', { client_id: 'service' }, 'client_id cannot be set by the client itself'],
  ['a secret of its choice', { client_secret: 'x' }, 'client_secret cannot be set by the client itself'],
  ['no consent', { require_consent: false }, 'require_consent cannot be set by the client itself'],
  ['consent', { require_consent: true }, 'require_consent cannot be set by the client itself'],
  ['claims in ID tokens', { id_token_include_claims: true }, 'id_token_include_claims cannot be'],
  ['another format of tokens', { access_token_format: 'opaque' }, 'access_token_format cannot be'],
  ['scopes that may be left out', { optional_scopes: 'email' }, 'optional_scopes cannot be'],
  ['a default scope', { default_scope: 'openid' }, 'default_scope cannot be'],
  ['a colour of its own', { brand_color: '#0b6b5e' }, 'brand_color cannot be set by the client itself'],
  ['its logo on our pages', { show_logo: true }, 'show_logo cannot be set by the client itself'],
  ['a member of a plugin that is not open', { tier: 'gold' }, 'tier cannot be set by the client itself'],
  ['the right to introspect', { scope: 'token_introspection' }, 'scope token_introspection cannot be'],
  ['the tokens of another client', { scope: 'openid service' }, 'scope service cannot be'],
  ['a scope that the door does not give', { scope: 'ledger photos' }, 'scope ledger photos cannot be'],
  ['a scope that is registered nowhere', { scope: 'nothing' }, 'scope nothing cannot be'],
  ['a grant that no person approves', { grant_types: ['client_credentials'] }, 'grant_types client_credentials cannot be'],
  ['a grant that nobody serves', { grant_types: ['password'] }, 'grant_types password cannot be'],
  ['tokens at once without their grant', { response_types: ['code id_token'], grant_types: ['authorization_code'] }, 'response_types need the grant type implicit'],
  ['a response type that is not served yet', { response_types: ['token'] }, 'response_types names what is not served'],
  ['a method that is not served yet', { token_endpoint_auth_method: 'tls_client_auth' }, 'token_endpoint_auth_method is not served'],
  ['a page without https', { policy_uri: 'http://app.example/' }, 'policy_uri must use https'],
  ['a page without https, in odd letters', { policy_uri: 'http://app.example/{a}' }, 'policy_uri must use https'],
  ['a page at no address', { logo_uri: 'https://[/' }, 'logo_uri must be an absolute'],
  ['a login address without https', { initiate_login_uri: 'http://app.example/' }, 'initiate_login_uri must use https'],
])('%s is refused, and nothing is stored', async (_name, more, message) => {
  const before = await database.query('select count(*) from clients')
  const refused = plain.create({ redirect_uris: [URI], ...more })
  await expect(refused).rejects.toMatchObject({ code: 'invalid_client_metadata', message: expect.stringContaining(message) as string })
  expect(await database.query('select count(*) from clients')).toEqual(before)
}) // prettier-ignore

test.each([
  'http://app.example/',
  'myapp:/callback',
  'javascript:alert(1)',
  'https://app.example/#a',
  'https://*.example/',
])('the redirect URI %s of a stranger is refused', async (uri) => {
  await expect(plain.create({ redirect_uris: [uri] })).rejects.toMatchObject({ code: 'invalid_redirect_uri' })
})

test('a pairwise subject of two hosts is refused', async () => {
  const two = plain.create({ subject_type: 'pairwise', redirect_uris: [URI, 'https://b.example/'] })
  await expect(two).rejects.toMatchObject({ code: 'invalid_redirect_uri' })
})

test('an app of the code flow needs a redirect URI', async () => {
  await expect(plain.create({ client_name: 'App' })).rejects.toMatchObject({ code: 'invalid_redirect_uri' })
})

test('a grant that the door gives is given where it is asked for, and served', async () => {
  const asked = { grant_types: ['client_credentials'], scope: 'photos' }
  const { grant_types, response_types } = await generous.create(asked)
  expect([grant_types, response_types]).toEqual([['client_credentials'], []])
  await expect(generous.create({ grant_types: ['urn:example:unserved'] })).rejects.toMatchObject({
    code: 'invalid_client_metadata',
  })
})

test('a grant that is served and not for strangers is left out, as the answer says', async () => {
  // VS Code and oidc-agent name all of theirs that the metadata has.
  const devices = rowsWith('latchkey-device-code', ['urn:ietf:params:oauth:grant-type:device_code'])
  const usual = ['authorization_code', 'refresh_token']
  const asked = { redirect_uris: [URI], grant_types: [...usual, 'client_credentials', ...devices] }
  const made = await plain.create(asked)
  expect([made['grant_types'], made['response_types']]).toEqual([usual, ['code']])
  expect((await clients.find(made.client_id))!.grant_types).toEqual(usual)
  const replaced = await plain.replace(made.client_id, { ...asked, client_id: made.client_id })
  expect(replaced['grant_types']).toEqual(usual)
  const given = await plain.create(asked, { grantTypes: asked.grant_types })
  expect(given['grant_types']).toEqual(asked.grant_types)
})

test.each<[string, object, string]>([
  ['a grant that nobody serves beside others', { grant_types: ['implicit', 'password'] }, 'grant_types password cannot be'],
  ['what gives no token to refresh', { grant_types: ['refresh_token', 'client_credentials'] }, 'grant_types client_credentials cannot be'],
  ['a response type without what is left of its grants', { grant_types: ['implicit', 'client_credentials'], response_types: ['code'] }, 'response_types need the grant type authorization_code'],
])('%s is refused all the same', async (_name, more, message) => {
  const refused = plain.create({ redirect_uris: [URI], ...more }, { grantTypes: ['refresh_token', 'implicit'] })
  await expect(refused).rejects.toMatchObject({ code: 'invalid_client_metadata', message: expect.stringContaining(message) as string })
}) // prettier-ignore

test('a door gives scopes: of a client its name would be the right to its tokens', async () => {
  for (const scope of ['service', 'nothing'])
    await expect(generous.create({ redirect_uris: [URI], scope })).rejects.toMatchObject({
      code: 'invalid_client_metadata',
    })
})

test('each door sees what came by it alone', async () => {
  const { client_id: id } = await plain.create({ redirect_uris: [URI] })
  expect([await generous.find(id), await plain.find('web'), await plain.find('')]).toEqual([null, null, null])
  for (const other of [id, 'web']) {
    await expect(generous.replace(other, { client_id: other, redirect_uris: [URI] })).rejects.toMatchObject({
      message: 'client_id is not registered',
    })
    expect(await generous.delete(other)).toBe(false)
  }
  expect(await clients.find('web')).not.toBeNull()
  expect(await plain.delete(id)).toBe(true)
  expect(await plain.delete(id)).toBe(false)
})

test('what an administrator has set by hand is not replaced or ended, nor trusted of what comes later', async () => {
  const { client_id: id } = await plain.create({ redirect_uris: [URI] })
  await clients.update(id, { require_consent: false })
  const replaced = plain.replace(id, { client_id: id, redirect_uris: ['https://evil.example/'] })
  await expect(replaced).rejects.toMatchObject({ code: 'access_denied', status: 403 })
  expect(await clients.find(id)).toMatchObject({ redirect_uris: [URI], require_consent: false })
  await expect(plain.delete(id)).rejects.toMatchObject({ code: 'access_denied', status: 403 })
  expect(await plain.find(id)).toMatchObject({ client_id: id })
})

test('scopes and grants that an administrator gave go with the redirect URIs that they were given for', async () => {
  const { client_id: id } = await plain.create({ redirect_uris: [URI] })
  await clients.update(id, {
    scope: 'ledger token_introspection',
    grant_types: ['authorization_code', 'client_credentials'],
  })
  const redirect_uris = ['https://evil.example/']
  await expect(plain.replace(id, { client_id: id, redirect_uris, scope: 'ledger' })).rejects.toMatchObject({
    code: 'invalid_client_metadata',
  })
  await plain.replace(id, { client_id: id, redirect_uris })
  expect(await clients.find(id)).toMatchObject({
    redirect_uris,
    scope: [],
    grant_types: ['authorization_code', 'refresh_token'],
  })
})

test('by whom it knows people stays: not the sector of another app, nor another kind of subject', async () => {
  const { client_id: id } = await plain.create({ redirect_uris: [URI], subject_type: 'pairwise' })
  const there = { client_id: id, redirect_uris: ['https://victim.example/callback'] }
  await expect(plain.replace(id, there)).rejects.toMatchObject({ message: 'subject_type cannot be changed' })
  const moved = plain.replace(id, { ...there, subject_type: 'pairwise' })
  await expect(moved).rejects.toMatchObject({ code: 'invalid_redirect_uri' })
  const { client_id: other } = await plain.create({ redirect_uris: [URI] })
  const turned = plain.replace(other, { ...there, client_id: other, subject_type: 'pairwise' })
  await expect(turned).rejects.toMatchObject({ message: 'subject_type cannot be changed' })
  const same = { ...there, redirect_uris: ['https://app.example/other'], subject_type: 'pairwise' }
  expect(await plain.replace(id, same)).toMatchObject({ redirect_uris: same.redirect_uris })
})

test('a secret that a replacement makes is told again to who shows the same, and to nobody else', async () => {
  const { client_id } = await plain.create({ redirect_uris: [URI], token_endpoint_auth_method: 'none' })
  const wanted = (token_endpoint_auth_method: string) => ({
    client_id,
    redirect_uris: [URI],
    token_endpoint_auth_method,
  })
  const basic = wanted('client_secret_basic')
  // The same form twice, and at once.
  const answers = await Promise.all([1, 2].map(() => plain.replace(client_id, basic, undefined, 'token 1')))
  const { client_secret: secret } = answers[0]!
  expect(secret).toMatch(/^lks_[\w-]{43}$/)
  const again = await plain.replace(client_id, basic, undefined, 'token 1')
  for (const told of [...answers, again, await plain.find(client_id, 'token 1')])
    expect(told).toMatchObject({ client_secret: secret, client_secret_expires_at: 0 })
  const others = [
    await plain.replace(client_id, basic, undefined, 'token 2'),
    await plain.replace(client_id, basic),
    await plain.find(client_id, 'token 2'),
    await plain.find(client_id),
  ]
  for (const told of others) expect(told).not.toHaveProperty('client_secret')
  expect(await server.oauth.checkSecret(await server.oauth.findClient(client_id), secret!)).toBe(true)

  // One that has ended comes never again, whatever is shown.
  await plain.replace(client_id, wanted('none'), undefined, 'token 1')
  expect(await plain.find(client_id, 'token 1')).not.toHaveProperty('client_secret')
  const { client_secret: next } = await plain.replace(client_id, basic, undefined, 'token 1')
  expect(next).not.toBe(secret)
  const longer = await plain.replace(client_id, wanted('client_secret_jwt'), undefined, 'token 1')
  expect(longer.client_secret).toMatch(/^lks_[\w-]{86}$/)
  expect(await plain.find(client_id, 'token 1')).toMatchObject({ client_secret: longer.client_secret })
  for (const shown of ['', 5])
    await expect(plain.find(client_id, shown as string)).rejects.toThrow('must be a text')
})

test('no more than so many come by a door', async () => {
  const [first] = [await few.create({ redirect_uris: [URI] }), await few.create({ redirect_uris: [URI] })]
  const third = few.create({ redirect_uris: [URI] })
  await expect(third).rejects.toMatchObject({ code: 'temporarily_unavailable', status: 429 })
  await few.delete(first.client_id)
  expect(await few.create({ redirect_uris: [URI] })).toHaveProperty('client_id')
})

test('a fault of a plugin that checks leaves nothing', async () => {
  const before = await database.query('select count(*) from clients')
  await expect(plain.create({ redirect_uris: [URI], theme: 'ugly' })).rejects.toThrow('a fault of the plugin')
  expect(await database.query('select count(*) from clients')).toEqual(before)
})

test.for([undefined, {}, { most: '10' }] as unknown[])(
  'a door that does not say how many it lets in ends the start: %j',
  async (options) => {
    const unbounded = startServer(
      {},
      { extend: ({ oauth }) => oauth.selfRegistration('x', options as SelfRegistrationOptions) },
    )
    await expect(unbounded).rejects.toThrow('The self-registration x must say how many clients it may make')
  },
)

test('a door has a name of its own, and none gives power over the tokens of others', async () => {
  const twice = startServer({}, { extend: ({ oauth }) => [open(oauth), open(oauth)] })
  await expect(twice).rejects.toThrow('The self-registration plain is taken.')
  const powerful = startServer(
    {},
    { extend: ({ oauth }) => oauth.selfRegistration('x', { most: 1, scopes: ['token_introspection'] }) },
  )
  await expect(powerful).rejects.toThrow('The self-registration x must not give token_introspection')
})
