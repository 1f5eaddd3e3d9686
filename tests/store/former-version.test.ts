/**
 * The version before this one and its rows: those that were there before the schema was brought to the newest, and those that it writes
 * beside us, without the columns that it does not know.
 */
import { MikroORM } from '@mikro-orm/postgresql'
import { hash, randomBytes, randomUUID } from 'node:crypto'
import { expect, test } from 'vitest'
import { migrationNames, oldestBeside } from '../../src/migrations/names.ts'
import { migrate } from '../../src/store/migrate.ts'
import { migratorOptions } from '../../src/store/migrator.ts'
import { askByPage, as, keepAccount, somebody } from '../plugins/own-data/people.ts'
import { createDatabase, createEmptyDatabase, type TestDatabase } from '../support/database.ts'
import { startServer, type TestServer } from '../support/server.ts'
import { ALICE, answerOf, authorizationUrl, exchange, goThrough, SEED, WEB } from '../support/sign-in.ts'
import { createUserAgent, findForm } from '../support/user-agent.ts'
import { isThere } from '../support/left-out.ts'

interface Column extends Record<string, unknown> {
  name: string
  type: string
  given: boolean
}

/** What a row of each table is made of; `given` where it can be left out. */
async function columnsOf({ query }: TestDatabase): Promise<Map<string, Column>> {
  const columns = await query<Column>(
    `select table_name || '.' || column_name as name, data_type as type, is_nullable = 'YES' or column_default is not null as given
     from information_schema.columns where table_schema = 'public' and table_name not like 'migrations%'`,
  )
  return new Map(columns.map((column) => [column.name, column]))
}

/** Such as stop a row that another version writes: what is unique, or refers to another table. */
async function constraintsOf({ query }: TestDatabase): Promise<string[]> {
  const rows = await query<{ is: string }>(
    `select conrelid::regclass || ': ' || pg_get_constraintdef(oid) as is from pg_constraint
     where connamespace = 'public'::regnamespace and conrelid <> 0 and contype <> 'n' and conrelid::regclass::text not like 'migrations%' order by 1`,
  )
  return rows.map((row) => row.is)
}

/** As the version left it whose last migration that was. */
async function migrateTo(url: string, last: string): Promise<void> {
  const orm = await MikroORM.init({ ...migratorOptions(url), connect: false } as Parameters<typeof MikroORM.init>[0]) // prettier-ignore
  try {
    await orm.migrator.up({ migrations: migrationNames.slice(0, migrationNames.indexOf(last) + 1) })
  } finally {
    await orm.close(true)
  }
}

const former = await createEmptyDatabase()
await migrateTo(former.url, oldestBeside)
const [columnsBefore, constraintsBefore] = [await columnsOf(former), await constraintsOf(former)]
const tablesBefore = new Set([...columnsBefore.keys()].map((name) => name.split('.')[0]!))

test('the newest schema takes every row that the former version writes, and has all that it reads', async () => {
  const now = await createDatabase({ refusing: false })
  const columns = await columnsOf(now)
  const isKnown = ({ name }: Column): boolean => tablesBefore.has(name.split('.')[0]!)
  const added = [...columns.values()].filter((one) => isKnown(one) && !columnsBefore.has(one.name))
  expect(added.map(({ name }) => name)).toEqual(
    expect.arrayContaining(['users.deletion_due_at', 'consents.declined']),
  )
  expect(added.filter(({ given }) => !given)).toEqual([])
  for (const [name, { type, given }] of columnsBefore) {
    const one = columns.get(name)
    expect([name, one?.type]).toEqual([name, type])
    // What could be left out can be still.
    expect([name, one?.given || !given]).toEqual([name, true])
  }
  const constraints = await constraintsOf(now)
  const isOfBefore = (one: string): boolean => tablesBefore.has(one.split(':')[0]!)
  // A key of a column that it does not write, which is null then.
  expect(constraints.filter((one) => isOfBefore(one) && !constraintsBefore.includes(one))).toEqual([
    'users: UNIQUE (email_key)',
  ])
})

/** The former version's own statements. */
const insertUser = `insert into users (id, username, username_key, password_hash, roles, claims, disabled_at)
  values ($1, $2, $2, $3, '{}', $4, $5)`
const grant = `insert into consents as had (user_id, client_id, scopes, resources) values ($1, $2, $3, $4)
  on conflict (user_id, client_id) do update set
    scopes = array(select distinct unnest(had.scopes || excluded.scopes) order by 1),
    resources = array(select distinct unnest(had.resources || excluded.resources) order by 1), granted_at = now()`

/** Of Alice's password. */
async function hashOf({ database }: TestServer): Promise<string> {
  const rows = await database.query<{ hash: string }>(
    `select password_hash as hash from users where username = '${ALICE.username}'`,
  )
  return rows[0]!.hash
}

test('its rows are brought to the newest schema: people sign in, are not asked again, and may go', async () => {
  const other = await startServer({}, { seed: SEED })
  const [sofia, disabled] = [randomUUID(), randomUUID()]
  const claims = { email: 'sofia@example.com', email_verified: true }
  await former.query(insertUser, [sofia, 'sofia', await hashOf(other), claims, null])
  await former.query(insertUser, [disabled, 'dora', null, {}, new Date()])
  await former.query(`insert into clients (client_id, redirect_uris, scope) values ('web', $1, '{read_books}')`, [[WEB.redirect_uri]])
  for (const user of [sofia, disabled]) await former.query(grant, [user, 'web', ['openid', 'read_books'], []])
  await migrate(former.url)
  const rows = `select username, deletion_due_at, declined, lines, consent_id is not null as id, scopes
    from users u join consents c on c.user_id = u.id order by username`
  const told = { deletion_due_at: null, declined: [], lines: {}, id: true, scopes: ['openid', 'read_books'] }
  expect(await former.query(rows)).toEqual([{ username: 'dora', ...told }, { username: 'sofia', ...told }])

  const server = await startServer({ SECRET_KEY: randomBytes(32).toString('hex') }, { database: former, seed: SEED })
  const agent = createUserAgent(server.url)
  const user = { username: 'sofia', password: ALICE.password }
  const page = await agent.submit(await agent.get(authorizationUrl(server, { scope: 'openid read_books' })), 'login', user)
  expect((await exchange(server, answerOf(page).get('code')!)).status).toBe(200)
  if (!isThere('latchkey-own-data')) return
  expect((await askByPage(server, agent)).url).toBe(`${server.url}/account-deletion`)
  const back = await agent.submit(await agent.get(`${server.url}/account`), 'login', user)
  expect((await keepAccount(agent, back)).url).toBe(`${server.url}/account`)
  expect(await server.server.oauth.users.get(sofia)).toMatchObject({ deletesAt: null, disabled: false })
}) // prettier-ignore

test('what it writes beside us counts: users, and consents, also for what was left out here', async () => {
  const clients = [{ ...WEB, optional_scopes: 'email' }]
  const server = await startServer({}, { seed: { ...SEED, clients } })
  const silently = async (agent = createUserAgent(server.url)) =>
    answerOf(await agent.get(authorizationUrl(server, { scope: 'openid email', prompt: 'none' })))
  const tom = randomUUID()
  const user = { username: 'tom', password: ALICE.password }
  await server.database.query(insertUser, [tom, 'tom', await hashOf(server), { email: 'tom@example.com' }, null])
  const agent = createUserAgent(server.url)
  const page = await agent.submit(await agent.get(authorizationUrl(server, { scope: 'openid email' })), 'login', user)
  await agent.submit(page, 'consent', { decision: 'allow', 'scope:email': '' })
  const scopeOf = async () => {
    const code = (await silently(agent)).get('code')
    return ((await (await exchange(server, code ?? '')).json()) as { scope: string }).scope
  }
  expect(await scopeOf()).toBe('openid')
  await server.database.query(grant, [tom, 'web', ['openid', 'email'], [server.url]])
  expect(await scopeOf()).toBe('openid email')
  // And left out again here.
  const again = await agent.get(authorizationUrl(server, { scope: 'openid email', prompt: 'consent' }))
  await agent.submit(again, 'consent', { decision: 'allow', 'scope:email': '' })
  expect(await scopeOf()).toBe('openid')
}) // prettier-ignore

test.runIf(isThere('latchkey-own-data'))('a session that it opens for who is leaving opens nothing here', async () => {
  const server = await startServer({}, { seed: SEED })
  const user = await somebody(server)
  await askByPage(server, await as(server, user))
  // Their row says nothing of it to who knows no such column.
  const agent = createUserAgent(server.url)
  const token = randomBytes(32).toString('base64url')
  await server.database.query(
    `insert into sessions (hash, user_id, authenticated_at, amr, sid, expires_at, ends_at)
     select $1, id, now(), '{pwd}', gen_random_uuid(), now() + interval '1 day', now() + interval '1 day'
     from users where id = $2 and disabled_at is null`,
    [hash('sha256', token, 'base64url'), user.id],
  )
  agent.cookies.set('latchkey-session', token)
  expect(findForm(await agent.get(`${server.url}/account`), 'login')).toBeDefined()
  expect(answerOf(await agent.get(authorizationUrl(server, { prompt: 'none' }))).get('error')).toBe('login_required')
  expect(await goThrough(agent, await agent.get(authorizationUrl(server)), { username: user.username, password: 'a password of somebody' }))
    .toMatchObject({ body: expect.stringContaining('keep-account') })
}) // prettier-ignore
