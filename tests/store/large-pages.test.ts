/** How much each page of the administration and of an account reads where there is much. */
import { Client } from 'pg'
import { expect, test } from 'vitest'
import { fill } from '../../bench/fill.ts'
import { visitPages, type Visit } from '../../bench/pages.ts'
import { mostFor } from '../../bench/page-bounds.ts'
import { atEndOfFile } from '../support/cleanup.ts'
import { createDatabase, type TestDatabase } from '../support/database.ts'
import { routesOf } from '../support/routes.ts'

const database = await createDatabase()
await fillUp(database)
const visit = await visitPages(database.url)
atEndOfFile(async () => visit.close())

async function fillUp({ url }: TestDatabase): Promise<void> {
  const client = new Client({ connectionString: url })
  await client.connect()
  await fill(client, { users: 20_000, clients: 5000, events: 60_000 })
  await client.end()
}

/** Forms that only lead to where they stand, and what is shown once. */
const NOT_VISITED =
  /^\/(?:admin|account)\/.*(?:revoke|delete|rotate|end|disable|enable|keep|invit|link$|secret|retry|remove|rename|reset|role\/add$)/

function pagesOf({ app }: Visit): string[] {
  const reads = routesOf(app).filter(({ methods }) => methods.includes('GET'))
  const paths = reads.map(({ url }) => url).filter((url) => /^\/(?:admin|account)(?:\/|$)/.test(url))
  return [...new Set(paths)].filter((url) => !NOT_VISITED.test(url) && !url.endsWith('/'))
}

test('every page was visited, and answered', () => {
  const visited = new Set(visit.reads.map(({ page }) => page.split('?')[0]))
  expect(visit.failed).toEqual([])
  expect(pagesOf(visit).length).toBeGreaterThan(15)
  expect(pagesOf(visit).filter((path) => !visited.has(path))).toEqual([])
})

test('no statement of any page reads more than it may', () => {
  const tooMuch = visit.reads.filter((read) => read.read > mostFor(read))
  expect(tooMuch.map(({ page, read, text, scans }) => ({ page, read, text, scans }))).toEqual([])
})
