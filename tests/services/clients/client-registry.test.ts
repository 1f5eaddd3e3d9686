import { beforeAll, expect, test } from 'vitest'
import type { ClientRegistry } from '../../../src/services/clients/client-registry.ts'
import { type TestServer, startServer } from '../../support/server.ts'

const URI = 'https://client.example/cb'
let server: TestServer
let clients: ClientRegistry

beforeAll(async () => {
  server = await startServer()
  clients = server.server.oauth.clients
})

test('a client that is made is found again, without the secret that was shown once', async () => {
  const made = await clients.create({ client_name: 'A', redirect_uri: URI, scope: 'b a' })
  expect(made.client_secret).toMatch(/^lks_/)
  const { client_secret, ...rest } = made
  expect(await clients.find(made.client_id!)).toEqual(rest)
  expect(await clients.hasSecret(made.client_id!, client_secret!)).toBe(true)
  expect(JSON.stringify(await server.database.query('select * from client_secrets'))).not.toContain(
    client_secret,
  )
})

test.each([
  [{ redirect_uri: '/cb' }, 'invalid_redirect_uri', 'redirect_uris must be an absolute URI'],
  [{ redirect_uri: `${URI}#a` }, 'invalid_redirect_uri', 'redirect_uris must not have a fragment'],
  [{ redirect_uri: 'javascript:alert(1)' }, 'invalid_redirect_uri', 'must not use the scheme javascript:'],
  [{ response_types: ['code'] }, 'invalid_redirect_uri', 'redirect_uris must name an address'],
  [
    { grant_types: ['made_up'] },
    'invalid_client_metadata',
    'grant_types names made_up, which no plugin serves here',
  ],
  [
    { redirect_uri: URI, response_types: ['code made_up'] },
    'invalid_client_metadata',
    'response_types names',
  ],
  [{ token_endpoint_auth_method: 'made_up' }, 'invalid_client_metadata', 'token_endpoint_auth_method names'],
  [
    { token_endpoint_auth_method: 'constructor' },
    'invalid_client_metadata',
    'token_endpoint_auth_method names',
  ],
  [
    { token_endpoint_auth_method: 'none', client_secret: 'x' },
    'invalid_client_metadata',
    'client_secret is not used with',
  ],
  [
    { token_endpoint_auth_method: 'none', grant_types: ['client_credentials'] },
    'invalid_client_metadata',
    'for a client that cannot authenticate',
  ],
])(
  'bad metadata is refused with the field and the reason, and leaves nothing: %j',
  async (metadata, code, message) => {
    const refused = clients.create({ client_id: 'bad', ...metadata })
    await expect(refused).rejects.toMatchObject({ code, message: expect.stringContaining(message) })
    expect(await clients.find('bad')).toBeNull()
  },
)

test('a client_id is taken once, also by 20 at the same time', async () => {
  const made = await Promise.allSettled(
    Array.from({ length: 20 }, () => clients.create({ client_id: 'unique' })),
  )
  expect(made.filter(({ status }) => status === 'fulfilled')).toHaveLength(1)
  for (const one of made.filter(({ status }) => status === 'rejected'))
    expect((one as PromiseRejectedResult).reason).toMatchObject({
      code: 'invalid_client_metadata',
      message: 'client_id is already registered',
    })
})

test.each([
  ['grant_types', ['urn:openid:params:grant-type:ciba']],
  ['grant_types', ['authorization_code', 'implicit']],
  ['response_types', ['code id_token', 'none']],
  ['token_endpoint_auth_method', 'tls_client_auth'],
  ['token_endpoint_auth_method', 'self_signed_tls_client_auth'],
])(
  'what a standard knows and no plugin serves is stored, warned of, and read back: %s %j',
  async (field, value) => {
    const { client_id } = await clients.create({ redirect_uri: URI, [field]: value })
    expect(await clients.find(client_id!)).toMatchObject({ [field]: value })
    expect(server.output()).toMatch(new RegExp(`"level":"warn".*"client":"${client_id}".*"field":"${field}"`))
  },
)

test('a client whose method nobody serves has no secret and cannot fall back to one', async () => {
  const { client_id, client_secret } = await clients.create({
    token_endpoint_auth_method: 'tls_client_auth',
    scope: ['a'],
  })
  expect(client_secret).toBeUndefined()
  const response = await server.post('/token', {
    grant_type: 'client_credentials',
    client_id: client_id!,
    client_secret: 'x',
  })
  expect(response.status).toBe(401)
  await expect(clients.rotateSecret(client_id!)).rejects.toThrow('has no secret')
})

test.each([
  [
    'the five fields of the seed',
    { client_id: 's', client_secret: 'x', response_types: ['code'], redirect_uri: URI, scope: ['a'] },
    ['code'],
    ['authorization_code', 'refresh_token', 'client_credentials'],
  ],
  ['a service', { scope: ['a'] }, [], ['client_credentials']],
  ['a web app', { redirect_uri: URI }, ['code'], ['authorization_code', 'refresh_token']],
  [
    'a public app with scopes',
    { redirect_uri: URI, scope: ['a'], token_endpoint_auth_method: 'none' },
    ['code'],
    ['authorization_code', 'refresh_token'],
  ],
  ['nothing', {}, [], []],
])('the defaults of %s', async (_name, metadata, response_types, grant_types) => {
  expect(await clients.create(metadata)).toMatchObject({ response_types, grant_types })
})

test('a scope list that is assigned and saved is stored; nothing assigned writes nothing', async () => {
  const client = await clients.create({ scope: ['a'] })
  const changes = async (): Promise<number> => (await server.database.query('select id from changes')).length
  const before = await changes()
  await clients.save(client)
  expect(await changes()).toBe(before)
  client.scope = ['b', 'a']
  expect(await clients.save(client)).toMatchObject({ scope: ['b', 'a'] })
  expect(await clients.find(client.client_id!)).toMatchObject({ scope: ['b', 'a'] })
})

test('a member that is null is taken away by an update, and its default holds again', async () => {
  const given = { client_name: 'A', redirect_uri: URI, scope: 'a', logo_uri: URI, tos_uri: URI, grant_types: ['authorization_code'], token_endpoint_auth_method: 'client_secret_post' }
  const { client_id } = await clients.create(given)
  const members = { client_name: null, logo_uri: null, grant_types: null, token_endpoint_auth_method: null, unknown: null }
  const expected = { client_id, redirect_uris: [URI], response_types: ['code'], grant_types: ['authorization_code', 'refresh_token', 'client_credentials'], scope: ['a'], tos_uri: URI }
  expect(await clients.update(client_id!, members)).toEqual(expected)
  expect(await clients.find(client_id!)).toEqual(expected)
  const less = await clients.update(client_id!, { redirect_uris: null, response_types: null, scope: null })
  expect(less).toMatchObject({ redirect_uris: [], response_types: [], grant_types: [], scope: [] })
}) // prettier-ignore

test('an update that is refused changes nothing', async () => {
  const { client_id } = await clients.create({ scope: ['a'], client_name: 'A' })
  await expect(clients.update(client_id!, { client_name: 'B', redirect_uri: '/cb' })).rejects.toThrow(
    'redirect_uris',
  )
  await expect(clients.update(client_id!, { client_name: 'B', grant_types: ['x'] })).rejects.toThrow(
    'grant_types',
  )
  await expect(clients.update(client_id!, { client_id: 'other' })).rejects.toThrow(
    'client_id cannot be changed',
  )
  await expect(clients.update('nobody', {})).rejects.toThrow('client_id is not registered')
  await expect(clients.update('', {})).rejects.toThrow('client_id is not registered')
  expect(await clients.find(client_id!)).toMatchObject({ client_name: 'A' })
})

test('a secret lives on while others replace it, and one alone without overlap', async () => {
  const { client_id, client_secret } = await clients.create({ scope: ['a'] })
  const secondOf = await clients.rotateSecret(client_id!, 60)
  const works = async (secret?: string): Promise<boolean> => clients.hasSecret(client_id!, secret!)
  expect([await works(client_secret), await works(secondOf.client_secret)]).toEqual([true, true])
  const third = await clients.rotateSecret(client_id!, 60)
  expect([
    await works(client_secret),
    await works(secondOf.client_secret),
    await works(third.client_secret),
  ]).toEqual([true, true, true])
  const last = await clients.rotateSecret(client_id!)
  expect([
    await works(secondOf.client_secret),
    await works(third.client_secret),
    await works(last.client_secret),
  ]).toEqual([false, false, true])
})

test('what is asked for again, as its answer was lost, ends nothing that was promised to work', async () => {
  const { client_id, client_secret } = await clients.create({ scope: ['a'] })
  const works = async (secret?: string): Promise<boolean> => clients.hasSecret(client_id!, secret!)
  const ends = async () =>
    server.database.query('select expires_at from client_secrets where client_id = $1 order by created_at', [
      client_id!,
    ])
  await server.database.query(
    `update client_secrets set created_at = created_at - interval '1 hour' where client_id = $1`,
    [client_id!],
  )
  await clients.rotateSecret(client_id!, 86_400)
  const first = await ends()
  await clients.rotateSecret(client_id!, 60)
  expect(await works(client_secret)).toBe(true)
  expect((await ends())[0]).toEqual(first[0])
  // Bounded: the one in use and four that nobody has, beside the newest.
  for (let again = 0; again < 3; again++) await clients.rotateSecret(client_id!, 60)
  expect(await works(client_secret)).toBe(true)
  expect(await ends()).toHaveLength(6)
  const last = await clients.rotateSecret(client_id!, 60)
  expect([await works(client_secret), await works(last.client_secret)]).toEqual([false, true])
  expect(await ends()).toHaveLength(6)
})

test('a secret whose time is over is gone with the next rotation', async () => {
  const { client_id } = await clients.create({ scope: ['a'] })
  await clients.rotateSecret(client_id!, 60)
  await server.database.query(
    `update client_secrets set expires_at = now() where client_id = $1 and expires_at is not null`,
    [client_id!],
  )
  await clients.rotateSecret(client_id!, 60)
  expect(
    await server.database.query('select id from client_secrets where client_id = $1', [client_id!]),
  ).toHaveLength(2)
})

test('a secret is replaced in the place of the one that was seen, and of no other', async () => {
  const { client_id } = await clients.create({ scope: ['a'] })
  const former = await clients.currentSecret(client_id!)
  const { client_secret } = await clients.rotateSecret(client_id!, 0, { former })
  await expect(clients.rotateSecret(client_id!, 0, { former })).rejects.toThrow('was replaced meanwhile')
  expect(await clients.hasSecret(client_id!, client_secret!)).toBe(true)
  expect([await clients.currentSecret('nobody'), await clients.currentSecret('')]).toEqual(['', ''])
})

test('a deleted client is gone with its secrets, and cannot be deleted twice', async () => {
  await clients.create({ client_id: 'gone' })
  expect([await clients.delete('gone'), await clients.delete('gone'), await clients.delete('')]).toEqual([
    true,
    false,
    false,
  ])
  expect(await clients.find('gone')).toBeNull()
  expect(await server.database.query(`select id from client_secrets where client_id = 'gone'`)).toEqual([])
})

test('names that objects inherit, and texts of all writing systems, are read back as they were', async () => {
  for (const client_id of ['__proto__', 'constructor', "'; drop table clients; --", '%00', '../x'])
    expect(await clients.create({ client_id, client_name: 'é \u202e 名 \u{1f511}' })).toMatchObject({
      client_id,
    })
  expect(await clients.find('__proto__')).toMatchObject({ client_name: 'é \u202e 名 \u{1f511}' })
  expect(({} as { client_name?: unknown }).client_name).toBeUndefined()
})

test('a list goes on after the last one, in the order of client_ids', async () => {
  const all = await clients.list('', 1000)
  const some = await clients.list(all[1]!.client_id, 2)
  expect(some.map((one) => one.client_id)).toEqual([all[2]!.client_id, all[3]!.client_id])
  expect(JSON.stringify(all)).not.toContain('client_secret')
})

test('a secret for a client whose method has none is refused at an update too', async () => {
  await clients.create({ client_id: 'public', token_endpoint_auth_method: 'none' })
  const refused = clients.update('public', { client_secret: 'never used' })
  await expect(refused).rejects.toThrow('client_secret is not used with token_endpoint_auth_method none')
})

test('a search finds what an id or a name begins with, in any case of the name, and no more than asked for', async () => {
  const found = async (text: string, limit?: number) => (await clients.search(text, { limit: limit ?? 100 })).found.map(({ client_id: id }) => id)
  for (const [client_id, client_name] of [['srch-b', 'Überblick'], ['srch-a', 'Zebra'], ['other', 'SRCH by name'], ['srch-c', undefined], ['Srch', 'x']])
    await clients.create({ client_id, client_name, scope: ['a'] })
  expect(await found('srch')).toEqual(['other', 'srch-a', 'srch-b', 'srch-c'])
  expect(await found('srch', 2)).toHaveLength(2)
  expect(await found('ZEB')).toEqual(['srch-a'])
  expect(await found('übe')).toEqual(['srch-b'])
  expect(await found('rch')).toEqual([])
  for (const text of ['srch%', 'srch_', 's%b', String.raw`srch\x`, "srch'"]) expect(await found(text)).toEqual([])
  expect(await clients.search('srch-c')).toEqual({ found: [await clients.find('srch-c')], next: null })
}) // prettier-ignore
