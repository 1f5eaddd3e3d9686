/** What the command line refuses: one clear sentence on stderr, nothing on stdout, exit status 1. */
import { once } from 'node:events'
import { writeFile } from 'node:fs/promises'
import { createServer as createHttpServer } from 'node:http'
import { type AddressInfo, createServer } from 'node:net'
import { join } from 'node:path'
import { Client } from 'pg'
import { describe, expect, test } from 'vitest'
import { atEndOfFile, temporaryDirectory } from '../support/cleanup.ts'
import { runCommandHere } from '../support/command-here.ts'
import { startDatabaseProxy } from '../support/database-proxy.ts'
import { createDatabase } from '../support/database.ts'
import { runCommand } from '../support/process.ts'
import { freePort } from '../support/settings.ts'
import { until } from '../support/until.ts'

const database = await createDatabase()
const settings = { DATABASE_URL: database.url, SECRET_KEY: 'k'.repeat(40) }

async function refusal(
  args: string[],
  given: object = {},
  run: typeof runCommandHere = runCommandHere,
): Promise<string> {
  const { status, stdout, stderr } = await run(args, { ...settings, ...given })
  expect({ status, stdout }).toEqual({ status: 1, stdout: '' })
  return stderr
}

describe('one sentence', () => {
  test.for<[string[], RegExp]>([
    [['client', 'show', 'nobody'], /^client_id is not registered: `latchkey client list` says what is\.$/],
    [
      ['client', 'update', 'nobody', '--scope', 'a'],
      /^client_id is not registered: `latchkey client list` says what is\.$/,
    ],
    [
      ['client', 'rotate-secret', 'nobody'],
      /^client_id is not registered: `latchkey client list` says what is\.$/,
    ],
    [['client', 'rotate-secret', 'nobody', '--overlap', 'soon'], /^--overlap .* whole number\.$/],
    [['client', 'list', '--limit', '-1'], /^--limit .* whole number\.$/],
    [['client', 'create', '--redirect-uri', '/relative'], /^redirect_uris .*\.$/],
    [['client', 'create', '--redirect-uri', 'javascript:alert(1)'], /^redirect_uris .*\.$/],
    [
      ['client', 'create', '--grant-types', 'made_up'],
      /^grant_types names made_up, which no plugin serves here\. One of a plugin is known where PLUGINS names that\.$/,
    ],
    [['client', 'create', '--scop', 'a'], /^--scop is not an option, .* Did you mean --scope\?$/],
    [['client', 'create', '--scope', 'sp"am'], /^scope .*\.$/],
    [
      ['client', 'create', '--made-up', 'x'],
      /^--made-up is not an option, nor a member of client metadata\. One of a plugin is known where PLUGINS names that\.$/,
    ],
    [['client', 'create', '--metadata', '{'], /^--metadata must be JSON\.$/],
    [
      ['client', 'create', '--metadata', '{"jwks":{"keys":[],"keys":[]}}'],
      /^--metadata has keys twice in one object: leave one of them\.$/,
    ],
    [['client', 'create', '--metadata', '[]'], /^--metadata must be a JSON object\.$/],
    [['client', 'create', 'stray', 'words'], /^stray is not understood\.$/],
    [['client', 'create', '--made-up'], /^--made-up has no value\.$/],
    [['user', 'show', 'nobody'], /^username is not registered: `latchkey user list` says what is\.$/],
    [['user', 'disable', 'nobody'], /^username is not registered: `latchkey user list` says what is\.$/],
    [['user', 'set-password', 'nobody'], /^username is not registered: `latchkey user list` says what is\.$/],
    [
      ['user', 'update', 'nobody', '--email', 'a@example.com'],
      /^username is not registered: `latchkey user list` says what is\.$/,
    ],
    [
      ['resource', 'create', 'https://api.example/', '--access-token-format', 'xml', '--aliases', 'no-uri'],
      /^aliases must be [^\n]*\.\naccess_token_format must be jwt or opaque\.$/,
    ],
    [['user', 'list', '--limit', 'many'], /^--limit .* whole number\.$/],
    [['user', 'create', ''], /^username must not be empty\.$/],
    [
      ['user', 'create', 'a', '--role', 'two words'],
      /^roles must be a list of names without spaces or commas\.$/,
    ],
    [['user', 'create', 'a', '--email-verified', 'yes'], /^--email-verified must be true or false\.$/],
    [['user', 'create', 'a', '--address', '7'], /^address .*\.$/],
    [
      ['user', 'create', 'a', '--password', 'x', '--password-stdin'],
      /^--password and --password-stdin .*\.$/,
    ],
    [
      ['key', 'rotate', '--algorithm', 'none'],
      /^--algorithm must be one of RS256, ES256, PS256, EdDSA, ES384, ES512, ML-DSA-44, ML-DSA-65\.$/,
    ],
  ])('%s', async ([args, sentence]) => {
    const stderr = await refusal(args)
    expect(stderr.endsWith('\n')).toBe(true)
    expect(stderr.trimEnd()).toMatch(sentence)
  })

  test.for<[object, RegExp]>([
    [{ DATABASE_URL: 'postgresql://postgres:hidden@127.0.0.1:1/none' }, /^This cannot .* 127\.0\.0\.1:1\.$/],
    [
      { DATABASE_URL: 'postgresql://postgres:hidden@127.0.0.1:1/none' },
      /: the database that DATABASE_URL names is out of reach: connect ECONNREFUSED 127\.0\.0\.1:1\.$/,
    ],
    [
      { DATABASE_URL: 'postgresql://postgres:hidden@localhost:1/none' },
      /: the database that DATABASE_URL names is out of reach: .*ECONNREFUSED/,
    ],
    [{ DATABASE_URL: 'postgresql://postgres:hidden@[/none' }, /^DATABASE_URL must be .*\.$/],
    [{ DATABASE_URL: 'mysql://postgres:hidden@localhost/none' }, /^DATABASE_URL must be .*\.$/],
    [{ SECRET_KEY: 'hidden' }, /^SECRET_KEY must be .*\.$/],
    [{ OIDC_TOKEN_EXPIRE: '-1' }, /^OIDC_TOKEN_EXPIRE must be .*\.$/],
    [{ PLUGINS: './no-such-plugin.ts' }, /^PLUGINS: \.\/no-such-plugin\.ts cannot be loaded .*\.$/],
  ])('of settings: %o', async ([given, sentence]) => {
    const stderr = await refusal(['client', 'list', '--json'], given)
    expect(stderr.trimEnd()).toMatch(sentence)
    expect(stderr).not.toContain('hidden')
  })
})

test('of a database from which nothing comes back: who it is, what to look at, and no stack', async () => {
  const silent = createServer(() => {}).listen(0, '127.0.0.1')
  await once(silent, 'listening')
  atEndOfFile(async () => silent.close())
  const { port } = silent.address() as AddressInfo
  const given = { DATABASE_URL: `postgresql://me:hidden@127.0.0.1:${port}/latchkey`, PORT: await freePort() }
  const sentence = `This cannot start: the database that DATABASE_URL names is out of reach: 127.0.0.1:${port} has not answered for 5 s; see that PostgreSQL is there, and that no firewall is between.\n`
  const asked = [refusal(['client', 'list'], given, runCommand), refusal(['serve'], given, runCommand)]
  expect(await Promise.all(asked)).toEqual([sentence, sentence])
})

const CUT =
  /^The database is not available now: [^\n]*\. See whether it was done all the same, and try again\.\n$/

test('of a database that goes away in the middle: that it did, and no stack', async () => {
  const proxy = await startDatabaseProxy(database.url)
  proxy.cutAt('clients', 'before')
  const stderr = await refusal(['client', 'list'], { DATABASE_URL: proxy.url })
  expect(stderr).toMatch(CUT)
  expect(stderr).toContain(': Connection terminated unexpectedly.')
})

test('and of one that cannot be connected to any more: that it was there, and what may be done', async () => {
  const proxy = await startDatabaseProxy(database.url)
  const address = 'https://app.example/callback'
  // Asked for while the client is judged; it takes a moment, in which our connections are seen to be gone.
  const sector = createHttpServer((_request, response) => {
    response.setHeader('content-type', 'application/json')
    void proxy.cut().then(() => setTimeout(() => response.end(JSON.stringify([address])), 100))
  }).listen(0, '127.0.0.1')
  await once(sector, 'listening')
  atEndOfFile(async () => sector.close())
  const origin = `http://127.0.0.1:${(sector.address() as AddressInfo).port}`
  const members = ['--redirect-uri', address, '--sector-identifier-uri', `${origin}/sector`]
  const given = { DATABASE_URL: proxy.url, UNSAFE_OUTBOUND_ORIGINS: origin }
  const stderr = await refusal(['client', 'create', ...members], given)
  // The log may have told of it before.
  expect(`${stderr.trimEnd().split('\n').at(-1)}\n`).toMatch(CUT)
})

test('and of one that ends our connection', async () => {
  const holder = new Client({ connectionString: database.url })
  await holder.connect()
  await holder.query('begin; lock table clients in access exclusive mode')
  const listing = refusal(['client', 'list'])
  try {
    await until(async () => {
      const ended = await database.query(`select pg_terminate_backend(pid) from pg_stat_activity
        where datname = current_database() and wait_event_type = 'Lock'`)
      expect(ended).toHaveLength(1)
    })
  } finally {
    await holder.end()
  }
  expect(await listing).toMatch(CUT)
})

test.each([
  ['57P03', 'the database system is starting up'],
  ['53300', 'sorry, too many clients already'],
  ['25006', 'cannot execute INSERT in a read-only transaction'],
])('of one that refuses us (%s): what it says, and nothing of what was done', async (code, words) => {
  const fields = ['SFATAL', `C${code}`, `M${words}`].map((field) => `${field}\0`).join('')
  const message = Buffer.from(`E\0\0\0\0${fields}\0`)
  message.writeInt32BE(message.length - 1, 1)
  const refusing = createServer((socket) =>
    socket.on('error', () => {}).once('data', () => socket.end(message)),
  )
  await once(refusing.listen(0, '127.0.0.1'), 'listening')
  atEndOfFile(async () => refusing.close())
  const { port } = refusing.address() as AddressInfo
  const url = `postgresql://me:hidden@127.0.0.1:${port}/latchkey`
  expect(await refusal(['client', 'list'], { DATABASE_URL: url })).toBe(`This cannot start: ${words}.\n`)
})

test('of a plugin that cannot start, whatever it is that it does not reach: which one it is, and where', async () => {
  const PLUGINS = join(await temporaryDirectory(), 'cached.mjs')
  const code = `Object.assign(new Error('connect ECONNREFUSED 127.0.0.1:6379'), { code: 'ECONNREFUSED', syscall: 'connect' })`
  await writeFile(PLUGINS, `export default async () => { throw ${code} }`)
  const stderr = await refusal(['client', 'list'], { PLUGINS })
  expect(stderr).toContain(`The plugin ${PLUGINS} failed at the start: `)
  expect(stderr).toContain('connect ECONNREFUSED 127.0.0.1:6379\n    at ')
  expect(stderr).not.toContain('DATABASE_URL')
})

describe('usage', () => {
  test.for<[string[], RegExp]>([
    [['client', 'frobnicate'], /unknown command 'frobnicate'/],
    [['client', 'show'], /missing required argument 'client_id'/],
    [['client', 'list', '--made-up'], /unknown option '--made-up'/],
    [['frobnicate'], /^error: unknown command 'frobnicate'$/m],
    [['clinet', 'list'], /^error: unknown command 'clinet'\n\(Did you mean client\?\)$/m],
    [['serve', 'stray'], /too many arguments for 'serve'/],
    [['user', 'create'], /missing required argument 'username'/],
    [['user', 'create', 'a', '--made-up', 'x'], /unknown option '--made-up'/],
    [['user'], /Usage: latchkey user/],
    [['client'], /Usage: latchkey client/],
    [['key'], /Usage: latchkey key/],
  ])('%s', async ([args, words]) => {
    expect(await refusal(args, {}, runCommand)).toMatch(words)
  })
})
