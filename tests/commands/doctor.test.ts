/** `doctor`: each fault in one line that says what to do; it changes nothing and shows no secret. */
import { readdir, readFile, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import { once } from 'node:events'
import { join, resolve } from 'node:path'
import { expect, onTestFinished, test, vi } from 'vitest'
import { CHECKS, type Finding } from '../../src/doctor/finding.ts'
import { examineProcess } from '../../src/doctor/process.ts'
import { migrationNames } from '../../src/migrations/names.ts'
import { noteServedPort } from '../../src/services/database/served-port.ts'
import { createSecretBox } from '../../src/services/keys/secret-box.ts'
import { brandDirectory } from '../support/brand-directory.ts'
import { atEndOfFile, temporaryDirectory } from '../support/cleanup.ts'
import { runCommandHere } from '../support/command-here.ts'
import { createDatabase, type TestDatabase } from '../support/database.ts'
import { runCommand } from '../support/process.ts'
import { startServer } from '../support/server.ts'
import { freePort, type Settings } from '../support/settings.ts'

const KEY = 'canary-key-0-0123456789abcdefghijklmnopqrstuvw'
const ADMIN = { username: 'root', password: 'canary password', roles: ['admin'] }
const SECRET = `lks_${'canary'.repeat(8).slice(0, 43)}`
const seed = { users: [ADMIN], clients: [{ client_id: 'service', client_secret: SECRET, scope: ['read'] }] }

/** A server that has been, and has left its database and settings. */
async function leaveServer(given: Settings = {}): Promise<{ settings: Settings; database: TestDatabase }> {
  // It has something to say of a database that is serializable.
  const database = await createDatabase({ serializable: false })
  const { settings, close } = await startServer({ SECRET_KEY: KEY, ...given }, { seed, database })
  await close()
  return { settings: { ...settings, SEED_FILE: undefined }, database }
}

async function examine(settings: Settings): Promise<{ status: number | null; findings: Finding[] }> {
  const { status, stdout, stderr } = await runCommandHere(['doctor', '--json'], settings)
  expect(stderr).toBe('')
  expect(stdout).not.toContain('canary')
  expect(stdout.split('\n')).toHaveLength(2)
  const { ok, findings } = JSON.parse(stdout) as { ok: boolean; findings: Finding[] }
  expect(ok).toBe(status === 0)
  expect(ok).toBe(findings.every((one) => one.status !== 'fail'))
  for (const { says } of findings) expect(says).toMatch(/^[^]*\.$/)
  return { status, findings }
}

/** What the database of the tests is like. */
const OF_TESTS = /^Our role is a superuser|^Its (?:fsync|full_page_writes) is off/

/** What is not well; nobody answers as the issuer of a server that has been. */
async function complaints(settings: Settings): Promise<string[]> {
  const { findings } = await examine(settings)
  return findings
    .filter(({ status, check }) => status !== 'ok' && check !== 'issuer')
    .filter(({ says }) => !OF_TESTS.test(says))
    .map(({ status, check, says }) => `${status} ${check}: ${says}`)
}

/** All that the database holds, in a word for each table. */
async function contentOf(database: TestDatabase): Promise<unknown[]> {
  const tables = await database.query<{ name: string }>(
    `select quote_ident(schemaname) || '.' || quote_ident(tablename) as name from pg_tables
     where schemaname not in ('pg_catalog', 'information_schema') order by 1`,
  )
  const found: unknown[] = []
  for (const { name } of tables)
    found.push([
      name,
      await database.query(`select md5(string_agg(t::text, ',' order by t::text)) from ${name} t`),
    ])
  return found
}

test('a server that runs is well, and a line says so for each thing', async () => {
  const server = await startServer({ SECRET_KEY: KEY }, { seed })
  const { status, findings } = await examine({ ...server.settings, SEED_FILE: undefined })
  expect(status).toBe(0)
  const checks = new Map<string, Finding>(findings.map((one) => [one.check, one]))
  for (const check of [
    'Node',
    'clock',
    'settings',
    'database clock',
    'connections',
    'schema',
    'signing keys',
    'SECRET_KEY',
    'administrator',
    'issuer',
  ])
    expect(checks.get(check)).toMatchObject({ check, status: 'ok' })
  const { stdout } = await runCommand(['doctor'], server.settings)
  expect(stdout).toMatch(/^ok {4}Node: Node \d+\.[^]*\nok {4}issuer: http[^\n]* answers, as this issuer\.\n$/)
})

test('it changes nothing, and makes nothing', async () => {
  const { settings, database } = await leaveServer()
  const before = await contentOf(database)
  expect(before.length).toBeGreaterThan(10)
  expect(await complaints(settings)).toEqual([])
  expect(await contentOf(database)).toEqual(before)

  await database.query('drop schema public cascade')
  await database.query('create schema public')
  const [missing, ...more] = await complaints(settings)
  expect(missing).toMatch(
    /^warn schema: \d+ migrations are missing \(.*\): `migrate` or the next start runs them\.$/,
  )
  expect(more).toEqual([])
  expect(await contentOf(database)).toEqual([])

  const DATA_DIR = join(await temporaryDirectory(), 'data')
  const embedded = await complaints({ DATA_DIR })
  expect(embedded).toEqual([
    `warn embedded PostgreSQL: DATA_DIR ${DATA_DIR} holds no database: the first start makes one there.`,
  ])
  await expect(readdir(DATA_DIR)).rejects.toThrow('ENOENT')
})

test('a key that signs only in a year, as a clock that was ahead has dated it', async () => {
  const { settings, database } = await leaveServer()
  await database.query(
    `update signing_keys set signs_from = now() + interval '1 year' where algorithm = 'ES256'`,
  )
  expect(await complaints(settings)).toEqual([
    expect.stringMatching(
      /^fail signing keys: The newest ES256 key signs from \d{4}-\S+Z, much later than OIDC_KEY_PUBLISH has it: a clock was ahead, or that was longer\. Set the clock, and run `key rotate`, which brings it forward\.$/,
    ),
  ])
})

test('a host whose clock is behind, which says nothing of a key that is right by that of the database', async () => {
  const { settings } = await leaveServer()
  onTestFinished(() => void vi.useRealTimers())
  vi.useFakeTimers({ toFake: ['Date'], now: Date.now() - 3_600_000 })
  expect(await complaints(settings)).toEqual([
    expect.stringMatching(/^fail database clock: The clock of the database is 3\d{3}\.\d s ahead of ours/),
  ])
})

test('keys that SECRET_KEY does not fit, and what a former one is still needed for', async () => {
  const { settings, database } = await leaveServer()
  const sealed = createSecretBox([KEY]).seal('{}', 'outbox')
  await database.query(
    `insert into outbox (id, kind, payload) values (gen_random_uuid(), 'news', '${sealed}')`,
  )
  const other = 'another-key-that-is-long-enough-0123456789'
  const lost = await complaints({ ...settings, SECRET_KEY: other })
  expect(lost.filter((one) => one.includes('cannot be decrypted'))).toHaveLength(2)
  expect(lost.join('\n')).toMatch(
    /fail SECRET_KEY: 1 client secrets \(of "service"\) were made with a key that is not in the list/,
  )
  const rotating = { ...settings, SECRET_KEY: `${other},${KEY}` }
  expect((await complaints(rotating)).map((one) => one.split(':').slice(0, 2).join(':'))).toEqual(
    expect.arrayContaining([
      'warn SECRET_KEY: 2 signing keys still depend on a former key',
      'warn SECRET_KEY: 1 client secrets (of "service") still depend on a former key',
      'warn SECRET_KEY: 1 deliveries still depend on a former key',
    ]),
  )
  expect(await complaints({ ...settings, SECRET_KEY: `${KEY},${other}` })).toEqual([
    'warn SECRET_KEY: Nothing depends on a former key any more: take it out of the list.',
  ])
})

test('what of the database would lose or mix up what is stored', async () => {
  const { settings, database } = await leaveServer()
  const name = new URL(database.url).pathname.slice(1)
  const after = async (change: string, given: Settings = {}): Promise<string[]> => {
    await database.query(`alter database ${name} ${change}`)
    const found = await complaints({ ...settings, ...given })
    await database.query(`alter database ${name} reset all`)
    return found
  }
  expect(await after('set synchronous_commit = off')).toEqual([
    'warn database: Its synchronous_commit is off, so a crash brings revoked tokens back: turn it on for our role.',
  ])
  expect(await after(`set default_transaction_isolation = 'serializable'`)).toEqual([
    expect.stringMatching(/^warn database: Its default_transaction_isolation is serializable/),
  ])
  expect(await after('set default_transaction_read_only = on')).toEqual([
    expect.stringMatching(/^fail database: It only reads: let DATABASE_URL name the primary/),
  ])
  expect(await after('connection limit 25', { WORKERS: 3 })).toEqual([
    'fail connections: This machine would take 3 × 10 connections of 25 that the database allows us: lower DATABASE_POOL_SIZE, or raise max_connections.',
  ])
})

test('a database whose language has another small letter for I', async () => {
  const { settings, database } = await leaveServer()
  const name = `${new URL(database.url).pathname.slice(1)}_tr`
  await database.query(
    `create database ${name} template template0 encoding 'UTF8' locale_provider icu icu_locale 'tr-TR'`,
  )
  atEndOfFile(async () => database.query(`drop database ${name} with (force)`))
  const DATABASE_URL = Object.assign(new URL(database.url), { pathname: `/${name}` }).href
  expect(await complaints({ ...settings, DATABASE_URL })).toContain(
    'warn database: Its locale does not make i of I, as Turkish does not, so searches miss names with an I: create it anew with another, such as C.UTF-8.',
  )
})

test('a role that may not make what is missing, and one that may not read', async () => {
  const { settings, database } = await leaveServer()
  const role = `doctor_${process.pid}`
  await database.query(`create role ${role} login`)
  atEndOfFile(async () => {
    await database.query(`drop owned by ${role}`)
    await database.query(`drop role ${role}`)
  })
  const url = new URL(database.url)
  url.username = role
  const theirs = { ...settings, DATABASE_URL: url.href }
  expect(await complaints(theirs)).toEqual([
    expect.stringMatching(
      /^fail database: .* cannot be used \(42501\): grant our role the use of its schema and tables\.$/,
    ),
  ])
  await database.query('drop schema public cascade')
  await database.query('create schema public')
  await database.query(`grant usage on schema public to ${role}`)
  expect(await complaints(theirs)).toEqual([
    expect.stringMatching(
      /^fail schema: .* our role may create nothing in public: grant it, or run `migrate` as one that may\.$/,
    ),
  ])
})

test('nobody who administers', async () => {
  const { settings, database } = await leaveServer()
  await database.query('delete from users')
  expect(await complaints(settings)).toEqual([expect.stringMatching(/^warn administrator: .*`setup-link`/)])
})

test('a database that is away, or is not there', async () => {
  const port = await freePort()
  const away = { DATABASE_URL: `postgresql://me:canary@127.0.0.1:${port}/latchkey`, SECRET_KEY: KEY }
  expect(await complaints(away)).toEqual([
    `fail database: The database at 127.0.0.1:${port}/latchkey cannot be used (ECONNREFUSED): see that it runs and is reached by DATABASE_URL.`,
  ])
  const { url } = await createDatabase()
  const other = new URL(url)
  other.pathname = '/nowhere'
  expect(await complaints({ DATABASE_URL: other.href, SECRET_KEY: KEY })).toEqual([
    expect.stringMatching(
      /^fail database: .* \(3D000\): create the database, or mend its name in DATABASE_URL\.$/,
    ),
  ])
})

test('settings that are refused, and choices that are seldom wise', async () => {
  const { findings, status } = await examine({ NODE_ENV: 'production', SECRET_KEY: KEY })
  expect(status).toBe(1)
  expect(findings.at(-1)).toEqual({
    check: 'settings',
    status: 'fail',
    says: 'OIDC_ISSUER and DATABASE_URL must be set, because NODE_ENV is production: this is a production start.',
  })
  const { settings } = await leaveServer()
  const chosen = {
    ...settings,
    NODE_ENV: 'production',
    OIDC_ISSUER: 'https://127.0.0.1:1',
    OIDC_PASSWORD_HASH_MEMORY: undefined,
    OIDC_KEY_ROTATE: 0,
  }
  const found = await complaints(chosen)
  expect(found).toContain(
    'warn choices: OIDC_KEY_ROTATE is 0: signing keys are replaced by `key rotate` alone.',
  )
})

test('docs/doctor.md says of each check what it looks at', async () => {
  const page = await readFile(resolve(import.meta.dirname, '../../docs/doctor.md'), 'utf8')
  const rows = [...page.matchAll(/^\| (`.*?`) +\|/gm)].flatMap(([, cell]) => cell!.split(', '))
  expect(rows).toEqual(CHECKS.map((check) => `\`${check}\``))
})

test('the embedded PostgreSQL, whose one role is a superuser by itself', async () => {
  const DATA_DIR = join(await temporaryDirectory(), 'data')
  const begun = await runCommandHere(['user', 'create', 'root', '--role', 'admin'], { DATA_DIR })
  expect(begun.stderr).toBe(`There was no database in DATA_DIR ${DATA_DIR}: one is made there.\n`)
  const { findings } = await examine({ DATA_DIR })
  expect(findings.filter(({ status, check }) => status !== 'ok' && check !== 'issuer')).toEqual([
    {
      check: 'embedded PostgreSQL',
      status: 'warn',
      says: 'The embedded PostgreSQL is for development and demos: set DATABASE_URL for anything else.',
    },
  ])
  expect(findings.map(({ check }) => check)).toContain('disk')
})

test('a setting that was misspelt', async () => {
  const { settings } = await leaveServer()
  expect(await complaints({ ...settings, OIDC_TOKEN_EXPIRY: 'canary' })).toEqual([
    'warn settings: OIDC_TOKEN_EXPIRY is no setting, and is ignored: the nearest is OIDC_TOKEN_EXPIRE.',
  ])
})

test('a seed file with which no server starts', async () => {
  const SEED_FILE = join(await temporaryDirectory(), 'seed.json')
  const { settings } = await leaveServer()
  expect(await complaints({ ...settings, SEED_FILE })).toEqual([
    `fail seed file: SEED_FILE ${SEED_FILE} cannot be read (ENOENT): mend the path or its rights.`,
  ])
  await writeFile(SEED_FILE, '["canary"')
  expect(await complaints({ ...settings, SEED_FILE })).toEqual([
    `fail seed file: SEED_FILE ${SEED_FILE} is not a JSON object: no server starts with it.`,
  ])
  await writeFile(SEED_FILE, '{"users": [{"username": "canary", "username": "canary"}]}')
  expect(await complaints({ ...settings, SEED_FILE })).toEqual([
    `fail seed file: SEED_FILE ${SEED_FILE} has username twice in one object, in line 1: leave one of them.`,
  ])
})

test('each entry of a seed file that a start would refuse, where it stands; nothing of it is applied', async () => {
  const SEED_FILE = join(await temporaryDirectory(), 'seed.json')
  const { settings, database } = await leaveServer()
  const callback = 'https://app.example.com/callback'
  const good = {
    resources: [{ resource: 'https://api.example.com', scopes: ['books'] }],
    scopes: [{ name: 'shelves' }],
    clients: [
      { client_id: 'shop', redirect_uris: [callback], client_secret: 'canary secret' },
      // As it is there, with one member said otherwise: what the file leaves out stays.
      { client_id: 'service', scope: ['books'] },
    ],
    users: [{ username: 'alice', password: 'a canary that sings', email: 'alice@example.com' }],
  }
  const before = await contentOf(database)
  const refusedOf = async (content: object): Promise<string[]> => {
    await writeFile(SEED_FILE, JSON.stringify(content))
    const { findings } = await examine({ ...settings, SEED_FILE })
    return findings
      .filter(({ check }) => check === 'seed file')
      .map(({ status, says }) => `${status} ${says.replace(`SEED_FILE ${SEED_FILE}`, 'It')}`)
  }
  expect(await refusedOf(good)).toEqual(['ok It can be read, and each of its entries is as it must be.'])
  const wrong = {
    resources: [...good.resources, { resource: 'no address' }],
    scopes: [...good.scopes, { name: 'a b' }],
    clients: [
      ...good.clients,
      { client_id: 'canary-less', redirect_uris: ['nowhere'] },
      { client_id: 'keyless', redirect_uris: [callback], token_endpoint_auth_method: 'private_key_jwt' },
      { redirect_uris: [callback] },
    ],
    exchanges: [{ client: 'nobody' }],
    users: [...good.users, { username: 'bob', email: 'nowhere' }],
    upstreams: [{ id: 'school' }],
    trusted_issuers: [{ issuer: 'nobody' }],
  }
  const where = (await refusedOf(wrong)).map(
    (line) =>
      /^fail It: (\w+\[\d+\]): (\w+) .*\. No server starts with it\.$/.exec(line)?.slice(1).join(' ') ?? line,
  )
  expect(where).toEqual([
    'resources[1] resource',
    'scopes[1] name',
    'exchanges[0] client',
    'clients[2] redirect_uris',
    'clients[4] client_id',
    'clients[3] token_endpoint_auth_method',
    'users[1] email',
    'upstreams[0] issuer',
    'trusted_issuers[0] issuer',
  ])
  const twice = {
    resources: [
      ...good.resources,
      { resource: 'https://b.example.com', aliases: ['https://api.example.com'] },
    ],
  }
  expect(await refusedOf(twice)).toEqual([
    expect.stringMatching(
      /^fail It: resources\[1\]: aliases names what is also a name of https:\/\/api\.example\.com/,
    ),
  ])
  const issuer = String(settings.OIDC_ISSUER)
  const own = {
    upstreams: [{ id: 'loop', client_id: 'a', issuer }],
    trusted_issuers: [{ issuer: `${issuer}/`, jwks_uri: `${issuer}/jwks` }],
  }
  expect(await refusedOf(own)).toEqual(
    ['upstreams', 'trusted_issuers'].map(
      (section) =>
        `fail It: ${section}[0]: issuer is this server itself: name that of somebody else. No server starts with it.`,
    ),
  )
  const many = { users: Array.from({ length: 14 }, () => ({})) }
  expect((await refusedOf(many)).slice(-2)).toEqual([
    expect.stringContaining('users[9]'),
    'fail It: 4 more entries are refused.',
  ])
  expect(await contentOf(database)).toEqual(before)
})

test('a look with which no server starts', async () => {
  const { settings } = await leaveServer()
  const BRAND_DIRECTORY = await brandDirectory({ 'style.css': 'a { background: url(x.png) }' })
  expect(await complaints({ ...settings, BRAND_DIRECTORY })).toEqual([
    expect.stringContaining('fail brand: BRAND_DIRECTORY: style.css loads "x.png"'),
  ])
  await writeFile(join(BRAND_DIRECTORY, 'style.css'), '')
  const { findings } = await examine({ ...settings, BRAND_DIRECTORY })
  expect(findings.find(({ check }) => check === 'brand')?.status).toBe('ok')
})

test('an issuer whose address is answered by somebody else, or by nobody', async () => {
  let body: object | undefined = { issuer: 'https://id.example' }
  const other = createServer((_request, response) => {
    response.writeHead(body === undefined ? 404 : 200).end(JSON.stringify(body))
  })
  await once(other.listen(0, '127.0.0.1'), 'listening')
  atEndOfFile(async () => other.close())
  const { port } = other.address() as { port: number }
  const { settings } = await leaveServer()
  const of = async (issuer: string): Promise<Finding> =>
    (await examine({ ...settings, OIDC_ISSUER: issuer })).findings.find(({ check }) => check === 'issuer')!
  const issuer = `http://127.0.0.1:${port}`
  expect(await of(issuer)).toMatchObject({ status: 'fail', says: expect.stringContaining('its issuer is "https://id.example"') as string }) // prettier-ignore
  body = undefined
  expect(await of(issuer)).toMatchObject({ status: 'fail', says: expect.stringContaining('answers 404') as string }) // prettier-ignore
  expect(await of(`http://127.0.0.1:${await freePort()}`)).toMatchObject({ status: 'warn', says: expect.stringContaining('does not answer (ECONNREFUSED)') as string }) // prettier-ignore
})

test('a server that took another port than the default one is asked there, as it has noted it in DATA_DIR', async () => {
  const { settings } = await leaveServer()
  const DATA_DIR = await temporaryDirectory()
  const other = createServer((_request, response) => {
    response.end(JSON.stringify({ issuer: `http://localhost:${port}` }))
  })
  await once(other.listen(0, 'localhost'), 'listening')
  atEndOfFile(async () => other.close())
  const { port } = other.address() as { port: number }
  await noteServedPort(DATA_DIR, port)
  const { findings } = await examine({ ...settings, DATA_DIR, OIDC_ISSUER: undefined, PORT: undefined })
  expect(findings.find(({ check }) => check === 'issuer')).toEqual({
    status: 'ok',
    check: 'issuer',
    says: `http://localhost:${port}/.well-known/openid-configuration answers, as this issuer.`,
  })
})

test('a clock that stands where the newest migration was written tomorrow', () => {
  const [year, month, day] = /(\d{4})(\d\d)(\d\d)/.exec(migrationNames.at(-1)!)!.slice(1).map(Number)
  const eve = Date.UTC(year!, month! - 1, day! - 1, 12)
  expect(examineProcess(eve)).toContainEqual(expect.objectContaining({ check: 'clock', status: 'ok' }))
})

test('a clock that stands at its beginning', () => {
  expect(examineProcess(0)).toContainEqual({
    check: 'clock',
    status: 'fail',
    says: 'The clock says 1970-01-01T00:00:00.000Z, which is before this was written: set it, and let NTP keep it.',
  })
})
