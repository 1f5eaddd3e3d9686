/** `key list|rotate|revoke`, `migrate` and every command's `--help`. */
import { expect, test } from 'vitest'
import { commandsHere, runCommandHere } from '../support/command-here.ts'
import { createDatabase } from '../support/database.ts'
import { runCommand } from '../support/process.ts'

const database = await createDatabase()
const settings = { DATABASE_URL: database.url, SECRET_KEY: 'k'.repeat(40), OIDC_TOKEN_EXPIRE: 100 }
const { run, runJson } = commandsHere(settings)

test('migrate makes the schema, and doing it again changes nothing', async () => {
  await database.query('drop schema public cascade')
  await database.query('create schema public')
  expect(await runJson('migrate')).toEqual({ database: expect.any(String) as string })
  const tables = () =>
    database.query(`select tablename from pg_tables where schemaname = 'public' order by 1`)
  const made = await tables()
  expect(made.map(({ tablename }) => tablename as string)).toContain('clients')
  expect(await run('migrate')).toMatch(/newest schema/)
  expect(await tables()).toEqual(made)
})

const list = async () => (await runJson('key', 'list')) as unknown as Record<string, unknown>[]

test('list shows the keys with their states; rotate --algorithm adds the next one', async () => {
  const [current, other] = await list()
  const instant = expect.stringMatching(/^\d{4}-\d\d-\d\dT.*Z$/) as string
  expect(current).toEqual({
    kid: expect.any(String) as string,
    alg: 'ES256',
    state: 'current',
    store: 'database',
    created_at: instant,
    signs_from: instant,
    retires_at: null,
  })
  expect(other).toMatchObject({ alg: 'RS256', state: 'current', retires_at: null })
  const next = await runJson('key', 'rotate', '--algorithm', 'ES256')
  expect(next).toMatchObject({ alg: 'ES256', state: 'next', retires_at: null })
  expect(await list()).toEqual([{ ...current, retires_at: instant }, other, next])
  const lines = (await run('key', 'list')).trimEnd().split('\n')
  expect(lines).toEqual([
    expect.stringMatching(`^${current!['kid'] as string}  ES256  current .* until `),
    expect.stringMatching(`^${other!['kid'] as string}  RS256  current `),
    expect.stringMatching(`^${next['kid'] as string}  ES256  next `),
  ])
})

test('rotate replaces every key there is; one that nobody has used yet comes by its name', async () => {
  const rotated = (await runJson('key', 'rotate')) as unknown as Record<string, unknown>[]
  expect(rotated.map(({ alg, state }) => [alg, state])).toEqual([
    ['ES256', 'next'],
    ['RS256', 'next'],
  ])
  const made = await runJson('key', 'rotate', '--algorithm', 'PS256')
  expect(made).toMatchObject({ alg: 'PS256', state: 'current' })
  expect(await list()).toEqual(expect.arrayContaining([...rotated, made]))
})

test('revoke says first what it ends, and does it with --yes', async () => {
  const current = (await list()).find(({ alg, state }) => alg === 'RS256' && state === 'current')!
  const kid = String(current['kid'])
  const asked = await runCommandHere(['key', 'revoke', kid], settings)
  expect(asked).toMatchObject({ status: 1, stdout: '' })
  expect(asked.stderr).toMatch(/of the last \d+ seconds, access tokens and ID tokens alike/)
  expect(asked.stderr).toMatch(/JWKS .* 30 seconds at most/)
  expect(asked.stderr).toMatch(/Refresh tokens and opaque tokens are not signed/)
  expect(asked.stderr).toMatch(/add --yes\.\n$/)
  expect(await list()).toContainEqual(current)
  const revoked = await runJson('key', 'revoke', kid, '--yes')
  const retiresAt = expect.stringMatching(/Z$/) as string
  expect(revoked).toEqual({ ...current, state: 'revoked', retires_at: retiresAt })
  expect((await list()).map((key) => key['kid'])).not.toContain(kid)
  // Asked once more, by somebody whose answer was lost.
  expect(await run('key', 'revoke', kid, '--yes')).toMatch(new RegExp(`^${kid}  RS256  revoked `))
  const signing = (await list()).filter(({ alg, state }) => alg === 'RS256' && state === 'current')
  expect(signing).toHaveLength(1)
})

test('a kid that begins with a hyphen is no option', async () => {
  for (const kid of ['-unknown', '--unknown', '-h123'])
    expect(await runCommandHere(['key', 'revoke', kid, '--yes'], settings)).toEqual({
      status: 1,
      stdout: '',
      stderr: 'kid is not that of a published key.\n',
    })
})

test.for([
  [[], ['serve', 'migrate', 'client', 'key', 'resource', 'scope', 'user']],
  [['client'], ['create', 'list', 'show', 'update', 'rotate-secret', 'delete']],
  [
    ['client', 'create'],
    ['--redirect-uris', '--scope', '--json', 'PLUGINS'],
  ],
  [
    ['client', 'rotate-secret'],
    ['--overlap <seconds>', '--json'],
  ],
  [['key'], ['list', 'rotate', 'revoke']],
  [
    ['key', 'revoke'],
    ['<kid>', '--yes', '--json', 'all that it signed'],
  ],
  [['scope'], ['create', 'list', 'show', 'update', 'delete']],
  [
    ['scope', 'create'],
    ['<name>', '--description', '--resource', '--json', 'empty text'],
  ],
  [['resource'], ['create', 'list', 'show', 'update', 'delete']],
  [
    ['resource', 'update'],
    ['<resource>', '--access-token-format', '--access-token-lifetime <seconds>', '--json'],
  ],
  [
    ['key', 'rotate'],
    ['--algorithm', '--json'],
  ],
  [['migrate'], ['newest schema', '--json']],
  [['serve'], ['start the server']],
])('%s --help explains itself without a database', async ([args, words]) => {
  const { status, stdout, stderr } = await runCommand([...args!, '--help'], {})
  expect({ status, stderr }).toEqual({ status: 0, stderr: '' })
  for (const word of words!) expect(stdout).toContain(word)
})
