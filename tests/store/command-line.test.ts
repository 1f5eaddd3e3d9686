/** MikroORM's own command line, with the configuration in the project's root: for who changes an entity. */
import { execFile } from 'node:child_process'
import { createRequire } from 'node:module'
import { dirname, join, resolve } from 'node:path'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { migrationNames } from '../../src/migrations/names.ts'
import { execute } from '../support/connection.ts'
import { createEmptyDatabase } from '../support/database.ts'

const root = resolve(import.meta.dirname, '../..')
const cli = join(dirname(createRequire(import.meta.url).resolve('@mikro-orm/cli/package.json')), 'cli.js')

test('it migrates an empty database as a start does, and finds nothing left to create', async () => {
  const { url } = await createEmptyDatabase()
  const mikroOrm = async (command: string): Promise<string> => {
    const args = [cli, command, '--config', './mikro-orm.config.ts']
    const env = { ...process.env, DATABASE_URL: url, NO_COLOR: '1' }
    return (await promisify(execFile)(process.execPath, args, { cwd: root, env })).stdout
  }
  expect(await mikroOrm('migration:up')).toContain('Successfully migrated')
  const rows = await execute<{ name: string }>(url, 'select name from migrations order by id')
  expect(rows.map(({ name }) => name)).toEqual(migrationNames)
  expect(await mikroOrm('migration:check')).toContain('No changes required')
})
