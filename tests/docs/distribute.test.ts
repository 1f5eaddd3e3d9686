/** docs/distribute.md, as it stands there, by roles that are no superusers and have passwords. */
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { migrate } from '../../src/store/migrate.ts'
import { execute } from '../support/connection.ts'
import { noPostgres, startSystemPostgres } from '../support/system-postgres.ts'
import { openPage, sitDown } from './page.ts'

const page = await openPage('distribute.md')
const [grants, plan, apply, status, back] = [
  page.next('sql'),
  page.next('sh'),
  page.next('sh'),
  page.next('sh'),
  page.next('sh'),
]

test('the page has no other commands', () => page.end())

describe.skipIf(noPostgres)('on a PostgreSQL with roles and passwords', () => {
  test('the tables are moved to two servers and back', async () => {
    const { url } = await startSystemPostgres()
    const own = (database: string): string => {
      const one = new URL(url)
      Object.assign(one, { username: 'latchkey', password: 'a long password', pathname: `/${database}` })
      return one.href
    }
    await execute(url, `create role latchkey login password 'a long password'`)
    for (const database of ['latchkey', 'shard1', 'shard2'])
      await execute(url, `create database ${database} owner latchkey`)
    const inLatchkey = new URL(url)
    inLatchkey.pathname = '/latchkey'
    for (const line of grants.trim().split('\n')) await execute(inLatchkey.href, line)
    await migrate(own('latchkey'))
    const desk = await sitDown({ DATABASE_URL: own('latchkey'), SECRET_KEY: 'k'.repeat(43) })
    await writeFile(join(desk.directory, 'servers.txt'), `${own('shard1')}\n${own('shard2')}\n`)
    expect((await desk.sh(plan)).stdout).toContain('All tables lie on one server.')
    expect((await desk.sh(apply)).stdout).toContain('Distributed by postgres_fdw over 2 servers.')
    const [asked, examined] = status.trim().split('\n') as [string, string]
    expect((await desk.sh(asked)).stdout).not.toContain('password')
    // The issuer does not answer, which is not what this is about.
    const found = await desk.sh(`${examined} || true`)
    expect(found.stdout).toContain('distribution: Tokens lie on 2 servers, and each answers.')
    expect((await desk.sh(back)).stdout).toContain('All tables lie on one server.')
  })
})
