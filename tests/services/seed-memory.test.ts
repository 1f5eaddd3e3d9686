/** What SEED_FILE says of a member counts at creation, and again only when the file's own value has changed. */
import { MikroORM } from '@mikro-orm/postgresql'
import type { FastifyInstance } from 'fastify'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { beforeEach, expect, test } from 'vitest'
import { migrationNames } from '../../src/migrations/names.ts'
import { createArgon2id } from '../../src/services/hashing/argon2id.ts'
import { migratorOptions } from '../../src/store/migrator.ts'
import { temporaryDirectory } from '../support/cleanup.ts'
import { createDatabase, createEmptyDatabase, type TestDatabase } from '../support/database.ts'
import { startServer } from '../support/server.ts'
import { giveEverything, whatIsLeft } from '../support/users.ts'

const PASSWORD = 'the password of the file'
const SECRET = 'the secret of the file'
const SEED = {
  resources: [{ resource: 'https://api.example', name: 'API', access_token_lifetime: 60 }],
  scopes: [{ name: 'read', description: 'Read', resource: 'https://api.example' }],
  clients: [
    {
      client_id: 'shop',
      client_secret: SECRET,
      client_name: 'Shop',
      scope: ['read', 'token_introspection'],
      redirect_uris: ['https://shop.example/cb', 'https://old.example/cb'],
    },
  ],
  users: [{ username: 'Ann', password: PASSWORD, roles: ['admin', 'editor'], email: 'ann@example.com' }],
}
const SECRET_KEY = 'k'.repeat(40)

let database: TestDatabase
beforeEach(async () => {
  database = await createDatabase()
})

/** Starts a server on the same database, closes it again after `work`, and returns what that gives. */
async function startOnce<T>(
  seed: object,
  work: (server: Awaited<ReturnType<typeof startServer>>) => Promise<T>,
  settings: object = {},
): Promise<T> {
  const server = await startServer({ SECRET_KEY, ...settings }, { seed, database })
  try {
    return await work(server)
  } finally {
    await server.close()
  }
}

const passwordsOf = async (...wanted: string[]) =>
  startOnce(SEED, async ({ server }) =>
    Promise.all(wanted.map((one) => server.oauth.users.hasPassword('ann', one))),
  )

test('a password that was changed here stays, and what it signed in too', async () => {
  const id = await startOnce(SEED, async ({ server }) => {
    await server.oauth.users.setPassword('ann', 'a password of her own')
    return (await server.oauth.users.find('ann'))!.id
  })
  await giveEverything(database, id)
  expect(await passwordsOf('a password of her own', PASSWORD)).toEqual([true, false])
  expect(await whatIsLeft(database, id)).toEqual({ sessions: 1, codes: 1, authorizations: 2 })
})

test('a client secret that was rotated here stays, and the old one is dead', async () => {
  const renewed = await startOnce(SEED, async ({ server }) => {
    return (await server.oauth.clients.rotateSecret('shop')).client_secret!
  })
  const has = await startOnce(SEED, async ({ server: { oauth } }) =>
    Promise.all([renewed, SECRET].map((one) => oauth.clients.hasSecret('shop', one))),
  )
  expect(has).toEqual([true, false])
})

test('a role that was taken away stays away, a disabled user disabled', async () => {
  await startOnce(SEED, async ({ server }) => {
    await server.oauth.users.update('ann', { roles: ['editor'] })
    await server.oauth.users.disable('ann')
  })
  const found = await startOnce(SEED, async ({ server }) => server.oauth.users.find('ann'))
  expect(found).toMatchObject({ roles: ['editor'], disabled: true })
})

test('a scope, a redirect URI, a claim and a lifetime that were changed here stay', async () => {
  await startOnce(SEED, async ({ server: { oauth } }) => {
    await oauth.clients.update('shop', { redirect_uris: ['https://shop.example/cb'], scope: ['read'] })
    await oauth.users.update('ann', { email: null })
    await oauth.resources.saveResource({ resource: 'https://api.example', access_token_lifetime: 30 })
    await oauth.resources.saveScope({ name: 'read', resource: null })
  })
  await startOnce(SEED, async ({ server: { oauth } }) => {
    expect(await oauth.clients.find('shop')).toMatchObject({
      redirect_uris: ['https://shop.example/cb'],
      scope: ['read'],
    })
    expect((await oauth.users.find('ann'))!.claims).toEqual({})
    expect(await oauth.resources.findResource('https://api.example')).toMatchObject({
      access_token_lifetime: 30,
    })
    expect(await oauth.resources.findScope('read')).toEqual({ name: 'read', description: 'Read' })
  })
})

test('what was deleted here stays deleted, said once a start, until its entry changes', async () => {
  await startOnce(SEED, async ({ server: { oauth } }) => {
    await oauth.clients.delete('shop')
    await oauth.resources.deleteScope('read')
  })
  const output = await startOnce(SEED, async ({ server: { oauth }, output }) => {
    expect(await oauth.clients.find('shop')).toBeNull()
    expect(await oauth.resources.findScope('read')).toBeNull()
    return output()
  })
  expect(output).toMatch(/"level":"warn".*"section":"clients".*"first":\["shop"\].*deleted/)
  const [shop] = SEED.clients
  const changed = { ...SEED, clients: [{ ...shop, client_secret: 'another secret' }] }
  await startOnce(changed, async ({ server: { oauth } }) => {
    expect(await oauth.clients.find('shop')).toMatchObject({ client_name: 'Shop', scope: shop!.scope })
    expect(await oauth.clients.hasSecret('shop', 'another secret')).toBe(true)
  })
})

test('a user who was deleted here stays deleted, by whatever way, until their entry changes; then it is somebody new', async () => {
  const [ann] = SEED.users
  const seed = { ...SEED, users: [ann, { ...ann, username: 'root' }] }
  const idOf = async (): Promise<string | undefined> =>
    startOnce(seed, async ({ server: { oauth } }) => (await oauth.users.find('ann'))?.id)
  const before = await idOf()
  await startOnce(seed, async ({ server: { oauth } }) => oauth.users.delete('ANN'))
  const output = await startOnce(seed, async (started) => started.output())
  expect(output).toMatch(/"level":"warn".*"section":"users".*deleted/)
  expect([typeof before, await idOf()]).toEqual(['string', undefined])
  const changed = { ...seed, users: [{ ...ann, nickname: 'Annie' }] }
  const after = await startOnce(changed, async ({ server: { oauth } }) => oauth.users.find('ann'))
  expect(after).toMatchObject({ username: 'Ann', claims: { nickname: 'Annie' } })
  expect(after!.id).not.toBe(before)
})

test('who was called otherwise here stays so, said once a start; a changed entry of the former name makes somebody new', async () => {
  const [ann] = SEED.users
  const { id } = await startOnce(SEED, async ({ server: { oauth } }) =>
    oauth.users.update('ann', { username: 'Anna', roles: ['editor'], password: 'a password of her own' }, { mayRename: true }),
  )
  const output = await startOnce(SEED, async ({ server: { oauth }, output }) => {
    expect(await oauth.users.find('ann')).toBeNull()
    expect(await oauth.users.find('anna')).toMatchObject({ id, username: 'Anna', roles: ['editor'] })
    return output()
  })
  expect(output).toMatch(/"level":"warn".*"section":"users".*"first":\["ann"\].*deleted or renamed/)
  const changed = { ...SEED, users: [{ ...ann, nickname: 'Annie' }] }
  await startOnce(changed, async ({ server: { oauth } }) => {
    const somebody = await oauth.users.find('ann')
    expect(somebody).toMatchObject({ username: 'Ann', roles: ann!.roles, claims: { nickname: 'Annie' } })
    expect(somebody!.id).not.toBe(id)
    expect(await oauth.users.find('anna')).toMatchObject({ id, roles: ['editor'], claims: { email: 'ann@example.com' } })
  })
}) // prettier-ignore

test('an entry that follows a new name is new there: what it says counts, and what it leaves out stays', async () => {
  const [{ username: _former, password: _password, ...ann }] = SEED.users as [(typeof SEED.users)[0]]
  const { id } = await startOnce(SEED, async ({ server: { oauth } }) =>
    oauth.users.update('ann', { username: 'Anna', roles: [], password: 'a password of her own' }, { mayRename: true }),
  )
  const following = { ...SEED, users: [{ ...ann, username: 'anna' }] }
  await startOnce(following, async ({ server: { oauth }, output }) => {
    expect(await oauth.users.find('ann')).toBeNull()
    expect(await oauth.users.find('anna')).toMatchObject({ id, username: 'Anna', roles: ann.roles })
    expect(await oauth.users.hasPassword('anna', 'a password of her own')).toBe(true)
    expect(output()).not.toContain('renamed here')
  })
  const whole = { ...SEED, users: [{ ...SEED.users[0], username: 'anna' }] }
  await startOnce(whole, async ({ server: { oauth } }) => {
    expect((await oauth.users.find('anna'))!.id).toBe(id)
    expect(await oauth.users.hasPassword('anna', PASSWORD)).toBe(true)
  })
}) // prettier-ignore

test('who was given the name of somebody deleted is spoken of by that entry from then on, once it changes', async () => {
  const ann = { ...SEED.users[0], roles: ['editor'] }
  const ben = { username: 'ben', roles: ['staff'], nickname: 'Ben' }
  const seed = { ...SEED, users: [ann, ben] }
  const { id } = await startOnce(seed, async ({ server: { oauth } }) => {
    await oauth.users.delete('ann')
    return oauth.users.update('ben', { username: 'ann' }, { mayRename: true })
  })
  await startOnce(seed, async ({ server: { oauth } }) =>
    expect(await oauth.users.find('ann')).toMatchObject({ id, roles: ['staff'], claims: { nickname: 'Ben' } }),
  )
  const changed = { ...seed, users: [{ ...ann, email: 'a@example.com' }, ben] }
  await startOnce(changed, async ({ server: { oauth } }) => {
    const claims = { nickname: 'Ben', email: 'a@example.com' }
    expect(await oauth.users.find('ann')).toMatchObject({ id, roles: ['staff'], claims })
    expect(await oauth.users.hasPassword('ann', PASSWORD)).toBe(false)
    expect(await oauth.users.find('ben')).toBeNull()
  })
}) // prettier-ignore

test('a value that changes in the file counts, whatever it is here: that one, and no other', async () => {
  await startOnce(SEED, async ({ server: { oauth } }) => {
    await oauth.users.update('ann', { password: 'a password of her own', roles: ['editor'], name: 'Ann' })
    await oauth.clients.update('shop', { client_name: 'Renamed', scope: ['read'] })
  })
  const seed = {
    clients: [{ ...SEED.clients[0], client_name: 'Store' }],
    users: [{ ...SEED.users[0], roles: ['editor', 'admin', 'auditor'] }],
  }
  await startOnce(seed, async ({ server: { oauth } }) => {
    expect(await oauth.clients.find('shop')).toMatchObject({ client_name: 'Store', scope: ['read'] })
    const user = await oauth.users.find('ann')
    expect([...user!.roles].toSorted()).toEqual(['admin', 'auditor', 'editor'])
    expect(await oauth.users.hasPassword('ann', 'a password of her own')).toBe(true)
  })
  await startOnce(SEED, async ({ server: { oauth } }) => {
    expect((await oauth.users.find('ann'))!.roles).toEqual(['admin', 'editor'])
    expect(await oauth.users.hasPassword('ann', 'a password of her own')).toBe(true)
  })
})

test('the same roles in another order are no other value', async () => {
  await startOnce(SEED, async ({ server }) => server.oauth.users.update('ann', { roles: [] }))
  const seed = { users: [{ ...SEED.users[0], roles: ['editor', 'admin'] }] }
  const found = await startOnce(seed, async ({ server }) => server.oauth.users.find('ann'))
  expect(found!.roles).toEqual([])
})

test('a file that says what a person has chosen meanwhile ends none of their sessions', async () => {
  const id = await startOnce(SEED, async ({ server }) => {
    await server.oauth.users.setPassword('ann', 'a password of her own')
    return (await server.oauth.users.find('ann'))!.id
  })
  await giveEverything(database, id)
  const seed = { users: [{ username: 'Ann', password: 'a password of her own' }] }
  await startOnce(seed, async () => {})
  expect(await whatIsLeft(database, id)).toEqual({ sessions: 1, codes: 1, authorizations: 2 })
})

test('an entry that is new in the file counts for what is here already', async () => {
  await startOnce({}, async ({ server: { oauth } }) => {
    await oauth.clients.create({ client_id: 'shop', client_secret: 'its own', client_name: 'Here' })
    await oauth.users.create({ username: 'ann', password: 'a password of her own' })
  })
  await startOnce(SEED, async ({ server: { oauth } }) => {
    expect(await oauth.clients.find('shop')).toMatchObject({ client_name: 'Shop' })
    expect(await oauth.clients.hasSecret('shop', SECRET)).toBe(true)
    expect(await oauth.users.hasPassword('ann', PASSWORD)).toBe(true)
  })
})

test('an entry that is nothing but its name is registered, once', async () => {
  const bare = {
    resources: [{ resource: 'https://bare.example' }],
    scopes: [{ name: 'bare' }],
    clients: [{ client_id: 'bare-client' }],
    users: [{ username: 'bare' }],
  }
  await startOnce(bare, async ({ server: { oauth } }) => {
    expect(await oauth.resources.findResource('https://bare.example')).not.toBeNull()
    expect(await oauth.resources.findScope('bare')).not.toBeNull()
    expect(await oauth.clients.find('bare-client')).not.toBeNull()
    expect(await oauth.users.find('bare')).not.toBeNull()
    await oauth.resources.deleteScope('bare')
  })
  await startOnce(bare, async ({ server: { oauth } }) =>
    expect(await oauth.resources.findScope('bare')).toBeNull(),
  )
})

test('an entry that left the file and comes back as it was says nothing new', async () => {
  await startOnce(SEED, async ({ server }) => server.oauth.users.setPassword('ann', 'a password of her own'))
  await startOnce({}, async () => {})
  expect(await passwordsOf('a password of her own', PASSWORD)).toEqual([true, false])
})

test('who was deleted and made anew by hand is not the one the file spoke of', async () => {
  await startOnce(SEED, async ({ server: { oauth } }) => {
    await database.query('delete from users')
    await oauth.users.create({ username: 'ann', password: 'a password of her own' })
  })
  expect(await passwordsOf('a password of her own', PASSWORD)).toEqual([true, false])
})

test('it is remembered under a new SECRET_KEY too', async () => {
  await startOnce(SEED, async ({ server }) => server.oauth.users.setPassword('ann', 'a password of her own'))
  const next = 'n'.repeat(40)
  for (const keys of [`${next},${SECRET_KEY}`, next])
    await startOnce(
      SEED,
      async ({ server }) =>
        expect(await server.oauth.users.hasPassword('ann', 'a password of her own')).toBe(true),
      { SECRET_KEY: keys },
    )
})

test('a former SECRET_KEY is needed by nothing that was remembered, also where there is no SEED_FILE any more', async () => {
  await startOnce(SEED, async () => {})
  const ids = async () =>
    (await database.query<{ id: string }>(`select split_part(sealed, '.', 1) as id from server_secrets`)).map(
      ({ id }) => id,
    )
  const [former] = await ids()
  const settings = { SECRET_KEY: `${'n'.repeat(40)},${SECRET_KEY}`, SEED_FILE: undefined }
  const { server } = await startServer(settings, { seed: 'demo', build: { start: false }, database })
  await server.close()
  expect(await ids()).not.toContain(former)
})

test('what is remembered says no password and no secret, not even that two are the same', async () => {
  const users = ['ann', 'ben'].map((username) => ({ username, password: PASSWORD }))
  await startOnce({ ...SEED, users }, async () => {})
  const rows = await database.query<{ key: string; said: { password: string } }>(
    'select * from seed_entries order by key',
  )
  expect(JSON.stringify(rows)).not.toMatch(new RegExp(`${PASSWORD}|${SECRET}`))
  const [ann, ben] = ['ann', 'ben'].map((key) => rows.find((one) => one.key === key)!.said.password)
  expect(ann).toMatch(/^[\w-]{43}$/)
  expect(ann).not.toBe(ben)
})

test('four processes that start at once with a changed file apply it once', async () => {
  await startOnce(SEED, async () => {})
  const seed = { ...SEED, users: [{ ...SEED.users[0], password: 'another of the file', roles: ['auditor'] }] }
  const servers = await Promise.all([1, 2, 3, 4].map(() => startServer({ SECRET_KEY }, { seed, database })))
  expect(await servers[0]!.server.oauth.users.hasPassword('ann', 'another of the file')).toBe(true)
  const noted = await database.query(
    `select count(*)::int from audit_events where type in ('user.password_changed', 'user.changed')`,
  )
  expect(noted).toEqual([{ count: 2 }])
})

test('an entry that is named twice is one: what is said last counts, and the next start changes nothing', async () => {
  const seed = { users: [SEED.users[0], { username: 'ANN', email: 'a@example.com' }] }
  for (let starts = 0; starts < 2; starts++)
    await startOnce(seed, async ({ server }) => {
      const found = await server.oauth.users.find('ann')
      expect(found).toMatchObject({ claims: { email: 'a@example.com' }, roles: ['admin', 'editor'] })
    })
  expect(await database.query(`select type from audit_events where type like 'user.%'`)).toEqual([
    { type: 'user.registered' },
  ])
})

test('what is not remembered to the end is not applied either: a start that fails goes on from there', async () => {
  const clients = Array.from({ length: 600 }, (_, at) => ({ client_id: `c${at}`, scope: ['read'] }))
  await database.query(`create function fail() returns trigger language plpgsql as
    $$ begin if new.key = 'c599' then raise exception 'no room'; end if; return new; end $$`)
  await database.query(
    `create trigger fail before insert on seed_entries for each row execute function fail()`,
  )
  await expect(startOnce({ clients }, async () => {})).rejects.toThrow('no room')
  const pairs = `select (select count(*) from clients)::int as clients,
    (select count(*) from seed_entries where kind = 'client')::int as said`
  const [before] = await database.query<{ clients: number; said: number }>(pairs)
  expect(before!.clients).toBe(before!.said)
  await database.query('drop trigger fail on seed_entries')
  await startOnce({ clients }, async () => {})
  expect(await database.query(pairs)).toEqual([{ clients: 600, said: 600 }])
})

test('a database of the version before: what it holds of passwords, secrets and roles stays, the rest of the file applies', async () => {
  database = await createEmptyDatabase()
  const orm = await MikroORM.init({ ...migratorOptions(database.url), connect: false } as Parameters<
    typeof MikroORM.init
  >[0])
  const to = migrationNames[migrationNames.indexOf('Migration20261123000030_seed_entries') - 1]!
  await orm.migrator.up({ to })
  await orm.close(true)
  const hash = await createArgon2id().hash('a password of her own')
  await database.query(
    `insert into users (id, username, username_key, password_hash, roles) values (gen_random_uuid(), 'Ann', 'ann', $1, '{editor}')`,
    [hash],
  )
  await database.query(`insert into clients (client_id) values ('shop'), ('bare')`)
  await database.query(
    `insert into client_secrets (id, client_id, hash) values (gen_random_uuid(), 'shop', $1)`,
    [hash],
  )
  const clients = [...SEED.clients, { client_id: 'bare', client_secret: SECRET }]
  const seed = { ...SEED, clients }
  for (let starts = 0; starts < 2; starts++)
    await startOnce(seed, async ({ server: { oauth } }) => {
      expect(await oauth.clients.find('shop')).toMatchObject({ client_name: 'Shop' })
      expect(await oauth.clients.hasSecret('bare', SECRET)).toBe(true)
      expect(await oauth.users.find('ann')).toMatchObject({
        roles: ['editor'],
        claims: { email: 'ann@example.com' },
      })
    })
  expect(await database.query('select password_hash from users')).toEqual([{ password_hash: hash }])
  expect(await database.query(`select hash from client_secrets where client_id = 'shop'`)).toEqual([{ hash }])
  const changed = { users: [{ ...SEED.users[0], password: 'another of the file' }] }
  await startOnce(changed, async ({ server }) =>
    expect(await server.oauth.users.hasPassword('ann', 'another of the file')).toBe(true),
  )
})

test('the demo follows the same rule: what was changed of it here stays, with every DATA_DIR that has said its own', async () => {
  const [one, other] = [await temporaryDirectory(), await temporaryDirectory()]
  const startDemo = async <T>(
    DATA_DIR: string,
    work: (oauth: FastifyInstance['oauth']) => Promise<T>,
  ): Promise<T> => {
    const started = await startServer({ SECRET_KEY, DATA_DIR }, { seed: 'demo', database })
    try {
      return await work(started.server.oauth)
    } finally {
      await started.close()
    }
  }
  const renewed = await startDemo(one, async ({ users, clients }) => {
    await users.setPassword('demo', 'a password of my own')
    await clients.delete('sample-web')
    return (await clients.rotateSecret('demo-service')).client_secret!
  })
  await startDemo(one, async ({ users, clients }) => {
    expect(await users.hasPassword('demo', 'a password of my own')).toBe(true)
    expect(await clients.hasSecret('demo-service', renewed)).toBe(true)
    expect(await clients.find('sample-web')).toBeNull()
  })
  // A server beside it has secrets of its own; those before work on for a day.
  await startDemo(other, async ({ clients }) => {
    const kept = (await readFile(join(other, 'demo-client'), 'utf8')).trim().split(':')[1]!
    expect(await clients.hasSecret('demo-service', kept)).toBe(true)
    expect(await clients.hasSecret('demo-service', renewed)).toBe(true)
    expect(await clients.find('sample-web')).not.toBeNull()
  })
})
