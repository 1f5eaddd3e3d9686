/** A command makes no tables wherever it finds itself: `migrate` does, a start does, the others say so. */
import { access, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { describePlace } from '../../src/store/database.ts'
import { temporaryDirectory } from '../support/cleanup.ts'
import { createEmptyDatabase } from '../support/database.ts'
import { runCommandHere } from '../support/command-here.ts'

test('on a database without tables of ours, commands say what to do and leave it as it is', async () => {
  const database = await createEmptyDatabase()
  const settings = { DATABASE_URL: database.url, SECRET_KEY: 'k'.repeat(40), OIDC_ISSUER: 'http://127.0.0.1:3000' }
  const dump = join(await temporaryDirectory(), 'dump.json')
  await writeFile(dump, '[]')
  for (const command of [
    ['client', 'list', '--json'],
    ['client', 'create', '--scope', 'read'],
    ['user', 'create', 'ann'],
    ['scope', 'list'],
    ['resource', 'delete', 'https://api.example', '--yes'],
    ['key', 'rotate'],
    ['setup-link'],
    ['import', dump],
  ])
    expect({ command, ...(await runCommandHere(command, settings)) }).toEqual({
      command,
      status: 1,
      stdout: '',
      stderr: `There are no tables of Latchkey at ${describePlace({ url: database.url })}: run \`latchkey migrate\` or start the server there, or mend DATABASE_URL and DATABASE_SCHEMA.\n`,
    })
  const tables = `select relname from pg_class join pg_namespace n on n.oid = relnamespace where nspname = 'public'`
  expect(await database.query(tables)).toEqual([])

  expect(await runCommandHere(['migrate'], settings)).toMatchObject({ status: 0 })
  expect(await runCommandHere(['client', 'list', '--json'], settings)).toMatchObject({ status: 0, stdout: '[]\n' })

  await database.query(`delete from migrations where name = 'Migration20261123000030_seed_entries'`)
  const { status, stderr } = await runCommandHere(['client', 'list'], settings)
  expect({ status, stderr }).toEqual({
    status: 1,
    stderr:
      'The database lacks the migration Migration20261123000030_seed_entries: run `latchkey migrate` on it, or start the server.\n',
  })
}) // prettier-ignore

test('in a DATA_DIR without a database, a command that would find nothing says so and makes none', async () => {
  const DATA_DIR = join(await temporaryDirectory(), 'mistaken')
  for (const command of [
    ['client', 'list', '--json'],
    ['client', 'update', 'any', '--scope', 'read'],
    ['user', 'show', 'ann'],
    ['scope', 'delete', 'read', '--yes'],
    ['key', 'rotate'],
  ])
    expect({ command, ...(await runCommandHere(command, { DATA_DIR })) }).toEqual({
      command,
      status: 1,
      stdout: '',
      stderr: `There is no database in DATA_DIR ${DATA_DIR}: start the server there, or mend DATA_DIR, or set DATABASE_URL.\n`,
    })
  await expect(access(DATA_DIR)).rejects.toThrow('ENOENT')
})
