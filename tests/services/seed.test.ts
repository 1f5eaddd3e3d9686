import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Client } from 'pg'
import { expect, test } from 'vitest'
import { kernelOf } from '../../src/http/kernel-of.ts'
import { temporaryDirectory } from '../support/cleanup.ts'
import { getToken } from '../support/clients.ts'
import { startDatabaseProxy } from '../support/database-proxy.ts'
import { createDatabase, type TestDatabase } from '../support/database.ts'
import { basic } from '../support/requests.ts'
import { startServer } from '../support/server.ts'
import { until } from '../support/until.ts'
import { giveEverything, whatIsLeft } from '../support/users.ts'

const SECRET = 'a-secret-nobody-may-see'
const SEED = {
  resources: [{ resource: 'https://api.example', name: 'API', scopes: ['far'], access_token_lifetime: 60 }],
  scopes: [
    { name: 'read', description: 'Read' },
    { name: 'deep', resource: 'https://api.example' },
  ],
  clients: [
    { client_id: 'one', client_secret: SECRET, scope: 'read far', redirect_uri: 'https://client.example/cb' },
    {
      client_id: 'two',
      client_secret: `lks_${'A'.repeat(43)}`,
      scope: ['read'],
      token_endpoint_auth_method: 'client_secret_post',
    },
  ],
  users: [
    {
      username: 'Ann',
      password: SECRET,
      roles: ['admin'],
      email: 'ann@example.com',
      address: { country: 'IS' },
    },
    { username: 'ben' },
  ],
}

const refusing = await createDatabase()

/** Why a server does not start with this file. */
async function refusal(content: unknown): Promise<string> {
  const file = join(await temporaryDirectory(), 'seed.json')
  await writeFile(file, typeof content === 'string' ? content : JSON.stringify(content))
  const settings = { SEED_FILE: file, SECRET_KEY: 'k'.repeat(40) }
  const error: unknown = await startServer(settings, { database: refusing }).then(
    async (server) => server.close(),
    (thrown: unknown) => thrown,
  )
  expect(error).toMatchObject({ name: 'ConfigError' })
  return (error as Error).message.replace(file, 'FILE')
}

/** Every row that a file can write, with the transaction that wrote it. */
async function rows({ query }: TestDatabase): Promise<unknown[]> {
  const tables = ['clients', 'client_secrets', 'scopes', 'resources', 'users', 'seed_entries']
  const all = await Promise.all(
    tables.map((table) => query(`select xmin::text, * from ${table} order by 2, 3`)),
  )
  return [...all, await query(`select id from changes where kind <> 'signing_key' order by id`)]
}

test('what the file names is there: resources, scopes and clients', async () => {
  const server = await startServer({}, { seed: SEED })
  const client = { clientId: 'one', clientSecret: SECRET, basic: basic('one', SECRET) }
  expect(await getToken(server, client)).toMatchObject({ scope: 'read far' })
  expect(await getToken(server, client, { scope: 'far' })).toMatchObject({ expires_in: 60 })
  expect(await server.server.oauth.clients.find('one')).toMatchObject({
    redirect_uris: ['https://client.example/cb'],
  })
})

test('users of the file sign in, with their roles and claims', async () => {
  const { server } = await startServer({}, { seed: SEED })
  const { users } = server.oauth
  expect(await users.authenticate('ann', SECRET)).toMatchObject({
    username: 'Ann',
    roles: ['admin'],
    claims: { email: 'ann@example.com', address: { country: 'IS' } },
  })
  expect(await users.find('ben')).toMatchObject({ roles: [], claims: {} })
})

test('an address in another spelling of its domain is whose it was first, and nobody’s of two in the file', async () => {
  const database = await createDatabase()
  const person = (username: string, email: string) => ({ username, email, email_verified: true })
  const [ann, ben] = [person('ann', 'a@bücher.example'), person('ben', 'b@bücher.example')]
  const first = await startServer({}, { seed: { users: [ann, ben] }, database })
  const { SECRET_KEY } = first.settings
  await first.close()
  // As an earlier version has stored it.
  await database.query(`update users set email_key = 'a@bücher.example' where username = 'ann'`)
  const others = [
    person('cat', 'A@xn--bcher-kva.example'),
    person('dan', 'd@xn--bcher-kva.example'),
    person('eve', 'd@bücher.example'),
  ]
  const users = [{ ...ann, name: 'Ann' }, ben, ...others]
  const { server } = await startServer({ SECRET_KEY }, { seed: { users }, database })
  const whose = async (email: string) => (await server.oauth.users.findByEmail(email))?.username
  expect(await Promise.all([...users].map(async ({ email }) => whose(email)))).toEqual([
    'ann',
    'ben',
    'ann',
    undefined,
    undefined,
  ])
})

test('a second start with the same file writes nothing', async () => {
  const database = await createDatabase()
  const first = await startServer({}, { seed: SEED, database })
  const { SECRET_KEY } = first.settings
  const before = await rows(database)
  await first.close()
  await startServer({ SECRET_KEY }, { seed: SEED, database })
  expect(await rows(database)).toEqual(before)
})

test('a start that loses its connection in the middle of the file applies it all the same', async () => {
  const database = await createDatabase()
  const holder = new Client({ connectionString: database.url })
  await holder.connect()
  await holder.query('begin')
  await holder.query('lock table client_secrets in share row exclusive mode')
  const starting = startServer({}, { seed: SEED, database })
  await until(async () => {
    const ended = await database.query(`select pg_terminate_backend(pid) from pg_stat_activity
      where datname = current_database() and wait_event_type = 'Lock'`)
    expect(ended).toHaveLength(1)
  })
  await holder.end()
  const client = { clientId: 'one', clientSecret: SECRET, basic: basic('one', SECRET) }
  expect(await getToken(await starting, client)).toMatchObject({ scope: 'read far' })
})

// What is read before, between and after what is written; and an answer to what was stored.
test.each([
  ['seed-file', 'before'],
  ['seed-entries-since', 'before'],
  ['seed-entries-find', 'before'],
  ['clients-present', 'before'],
  ['names-registered', 'before'],
  ['commit', 'after'],
] as const)('nor does it matter where: %s, %s', async (statement, when) => {
  const database = await createDatabase()
  const proxy = await startDatabaseProxy(database.url)
  proxy.cutAt(statement, when, statement === 'commit' ? 'seed-entries-insert' : undefined)
  const { server, output } = await startServer({}, { seed: SEED, database: { ...database, url: proxy.url } })
  expect(await server.oauth.users.authenticate('ann', SECRET)).toMatchObject({ username: 'Ann' })
  expect(output().match(/the database is not available now, and is asked again for 5 s/g)).toHaveLength(1)
})

test('who stops meanwhile does not wait until it is there again', async () => {
  const database = await createDatabase()
  const proxy = await startDatabaseProxy(database.url)
  const { server, output } = await startServer({}, { seed: SEED, database: { ...database, url: proxy.url } })
  await proxy.cut()
  const { seeder } = kernelOf(server)
  const applied = seeder.apply(SEED, 0).catch((error: unknown) => error)
  await until(() => expect(output()).toContain('the database is not available now'))
  seeder.stop()
  expect(await applied).toMatchObject({ name: 'AbortError' })
})

test('a changed file changes what it names, and leaves the rest', async () => {
  const database = await createDatabase()
  const first = await startServer({}, { seed: SEED, database })
  const { SECRET_KEY } = first.settings
  await first.server.oauth.clients.update('one', { client_name: 'kept' })
  await first.close()
  const seed = { clients: [{ client_id: 'one', client_secret: 'another', scope: ['read'] }] }
  const { server } = await startServer({ SECRET_KEY }, { seed, database })
  expect(await server.oauth.clients.find('one')).toMatchObject({
    scope: ['read'],
    client_name: 'kept',
    redirect_uris: ['https://client.example/cb'],
  })
  expect(
    await Promise.all(['another', SECRET].map((secret) => server.oauth.clients.hasSecret('one', secret))),
  ).toEqual([true, false])
  expect(await server.oauth.clients.find('two')).not.toBeNull()
})

test('a changed claim ends nothing, a changed password ends everything, and the disabled stay disabled', async () => {
  const database = await createDatabase()
  const start = async (user: object) => {
    const seed = { users: [{ username: 'ann', ...user }] }
    return (await startServer({ SECRET_KEY: 'k'.repeat(40) }, { seed, database })).server.oauth.users
  }
  const users = await start({ password: SECRET, name: 'Ann', email: 'ann@example.com', roles: ['admin'] })
  const { id } = (await users.find('ann'))!
  await giveEverything(database, id)
  await start({ password: SECRET, name: 'Ann B.', roles: [] })
  expect(await users.find('ann')).toMatchObject({
    roles: [],
    claims: { name: 'Ann B.', email: 'ann@example.com' },
  })
  expect(await whatIsLeft(database, id)).toEqual({ sessions: 1, codes: 1, authorizations: 2 })
  await start({ password: 'another password', email: null })
  expect(await whatIsLeft(database, id)).toEqual({ sessions: 0, codes: 0, authorizations: 0 })
  expect(await users.find('ann')).toMatchObject({ claims: { name: 'Ann B.' } })
  expect((await users.find('ann'))?.claims).not.toHaveProperty('email')
  const passwords = [SECRET, 'another password']
  expect(await Promise.all(passwords.map((one) => users.hasPassword('ann', one)))).toEqual([false, true])
  await users.disable('ann')
  await start({ password: 'another password', name: 'Ann' })
  expect(await users.find('ann')).toMatchObject({ disabled: true, claims: { name: 'Ann' } })
})

test('several servers that start at once with one file are all ready, and it is applied once', async () => {
  const database = await createDatabase()
  const SECRET_KEY = 'k'.repeat(40)
  const servers = await Promise.all(
    [1, 2, 3, 4].map(() => startServer({ SECRET_KEY }, { seed: SEED, database })),
  )
  for (const server of servers) expect((await server.get('/readyz')).status).toBe(200)
  expect(await database.query('select username_key from users order by 1')).toEqual([
    { username_key: 'ann' },
    { username_key: 'ben' },
  ])
  const secrets = await database.query(
    'select client_id, count(*)::int from client_secrets group by 1 order by 1',
  )
  expect(secrets).toEqual([
    { client_id: 'one', count: 1 },
    { client_id: 'two', count: 1 },
  ])
})

test('an unknown section and an unknown member are named in a warning, their values never, and the rest applies', async () => {
  const seed = {
    gadgets: [{ secret: SECRET }],
    scopes: [{ name: 'read', colour: SECRET }],
    resources: [{ resource: 'https://api.example', shape: SECRET }],
    clients: [{ client_id: 'one', favourite_colour: SECRET, scope: ['read'] }],
    users: [{ username: 'ann', passwrod: SECRET, name: 'Ann' }],
  }
  const { server, output } = await startServer({}, { seed })
  for (const name of ['gadgets', 'colour', 'shape', 'favourite_colour', 'passwrod'])
    expect(output()).toMatch(new RegExp(`"level":"warn".*"${name}"`))
  expect(output()).not.toContain(SECRET)
  expect(await server.oauth.clients.find('one')).toMatchObject({ scope: ['read'] })
  expect(await server.oauth.users.find('ann')).toMatchObject({ claims: { name: 'Ann' } })
})

test.each([
  ['', 'SEED_FILE FILE is not a JSON object.'],
  [`{"secret":"${SECRET}"`, 'SEED_FILE FILE is not a JSON object.'],
  ['[]', 'SEED_FILE FILE is not a JSON object.'],
  ['null', 'SEED_FILE FILE is not a JSON object.'],
  [
    '{"users":[],\n"scopes":[],\n"users":[]}',
    'SEED_FILE FILE has users twice in one object, in line 3: leave one of them.',
  ],
  [
    '{"trusted_issuers":[{"claims":{"ref":"a","ref":"b"}}]}',
    'SEED_FILE FILE has ref twice in one object, in line 1: leave one of them.',
  ],
  [{ clients: {} }, 'SEED_FILE FILE: clients must be a list.'],
  [{ scopes: 'read' }, 'SEED_FILE FILE: scopes must be a list.'],
  [{ clients: [7] }, 'SEED_FILE FILE: clients[0]: must be an object.'],
  [{ clients: [[]] }, 'SEED_FILE FILE: clients[0]: client_id is missing.'],
  [{ clients: [null] }, 'SEED_FILE FILE: clients[0]: must be an object.'],
  [{ clients: [{ client_secret: SECRET }] }, 'SEED_FILE FILE: clients[0]: client_id is missing.'],
  [{ clients: [{ client_id: '', client_secret: SECRET }] }, /^SEED_FILE FILE: clients\[0\]: client_id /],
  [
    { clients: [{ client_id: 'a' }, { client_id: 'b', redirect_uri: '/cb' }] },
    'SEED_FILE FILE: clients[1]: redirect_uris must be an absolute URI.',
  ],
  [
    { clients: [{ client_id: 'a', redirect_uri: 'javascript:x' }] },
    /^SEED_FILE FILE: clients\[0\]: redirect_uris must not use the scheme/,
  ],
  [{ clients: [{ client_id: 'a', client_secret: 7 }] }, /^SEED_FILE FILE: clients\[0\]: client_secret /],
  [
    { clients: [{ client_id: 'a', grant_types: ['made_up'] }] },
    'SEED_FILE FILE: clients[0]: grant_types names made_up, which no plugin serves here.',
  ],
  [
    { clients: [{ client_id: 'a', client_name: 'a\0b' }] },
    /^SEED_FILE FILE: clients\[0\]: client_name must not hold NUL/,
  ],
  [
    { scopes: [{ name: 'a b' }] },
    'SEED_FILE FILE: scopes[0]: name must be a scope name of RFC 6749 section 3.3.',
  ],
  [{ users: {} }, 'SEED_FILE FILE: users must be a list.'],
  [{ users: [{ password: SECRET }] }, 'SEED_FILE FILE: users[0]: username is missing.'],
  [{ users: [{ username: 'a' }, { username: 7 }] }, 'SEED_FILE FILE: users[1]: username must be a text.'],
  [{ users: [{ username: 'a', password: 7 }] }, 'SEED_FILE FILE: users[0]: password must be a text.'],
  [{ users: [{ username: 'a', roles: 'admin' }] }, /^SEED_FILE FILE: users\[0\]: roles must be a list/],
  [{ users: [{ username: 'a', email: [SECRET] }] }, /^SEED_FILE FILE: users\[0\]: email /],
  [{ scopes: [{}] }, /^SEED_FILE FILE: scopes\[0\]: name must be a scope name/],
  [{ scopes: [{ name: 7 }] }, /^SEED_FILE FILE: scopes\[0\]: name must be a scope name/],
  [{ scopes: [{ name: 'a', description: 7 }] }, /^SEED_FILE FILE: scopes\[0\]: description /],
  [{ scopes: [{ name: 'a', description: 'a\0b' }] }, /^SEED_FILE FILE: scopes\[0\]: description /],
  [
    { scopes: [{ name: 'a', resource: 'https://nowhere.example' }] },
    'SEED_FILE FILE: scopes[0]: resource is not registered.',
  ],
  [
    { resources: [{ resource: 'api' }] },
    'SEED_FILE FILE: resources[0]: resource must be an absolute URI without a fragment.',
  ],
  [
    { resources: [{ resource: 'https://api.example', aliases: 'urn:api' }] },
    /^SEED_FILE FILE: resources\[0\]: aliases must be at most 20 absolute URIs without a fragment\.$/,
  ],
  [
    {
      resources: [
        { resource: 'urn:a', aliases: ['urn:x'] },
        { resource: 'urn:b', aliases: ['urn:x/'] },
      ],
    },
    /^SEED_FILE FILE: resources\[1\]: aliases names what is also a name of urn:a\.$/,
  ],
  [
    { resources: [{ resource: 'urn:a', aliases: ['urn:b/'] }, { resource: 'urn:b' }] },
    /^SEED_FILE FILE: resources\[1\]: resource names what is also a name of urn:a\.$/,
  ],
  [
    { users: [{ username: 'ann' }, { username: 'bob', email: 'bob' }] },
    'SEED_FILE FILE: users[1]: email must be an email address, such as alice@example.com.',
  ],
  [{ resources: [{ resource: 'https://api.example', name: 7 }] }, /^SEED_FILE FILE: resources\[0\]: name /],
  [
    { resources: [{ resource: 'https://api.example', name: '\u3164' }] },
    /^SEED_FILE FILE: resources\[0\]: name must not be empty\.$/,
  ],
  [{ resources: [{ resource: 'https://api.example/\0' }] }, /^SEED_FILE FILE: resources\[0\]: resource /],
  [
    { resources: [{ resource: 'https://api.example', scopes: 'read' }] },
    /^SEED_FILE FILE: resources\[0\]: scopes /,
  ],
  [
    { resources: [{ resource: 'https://api.example', scopes: [7] }] },
    /^SEED_FILE FILE: resources\[0\]: name must be/,
  ],
  [
    { resources: [{ resource: 'https://api.example', access_token_format: 'x' }] },
    /access_token_format must be jwt or opaque\.$/,
  ],
  [
    { resources: [{ resource: 'https://api.example', access_token_lifetime: 1e10 }] },
    /access_token_lifetime must be a whole number of seconds/,
  ],
])(
  '%j keeps the server from starting, with one sentence that says where and why, and writes nothing',
  async (content, sentence) => {
    const message = await refusal(content)
    expect(message).toMatch(sentence)
    expect(message).not.toContain(SECRET)
    expect((await rows(refusing)).flat()).toEqual([])
  },
)

test('a file that cannot be read is said so', async () => {
  const missing = join(await temporaryDirectory(), 'none.json')
  await expect(startServer({ SEED_FILE: missing })).rejects.toThrow(
    `SEED_FILE ${missing} cannot be read (ENOENT).`,
  )
})
