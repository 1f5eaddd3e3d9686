// Owns `node bench/large.ts`: it fills the database of a URL with as many rows as it is told and says what they take up;
// or visits every page on a database that is filled, and says how much each statement read.

import { parseArgs } from 'node:util'
import { Client } from 'pg'
import { migrate } from '../src/store/migrate.ts'
import { fill, sizesOf } from './fill.ts'
import { mostFor } from './page-bounds.ts'
import { visitPages, type Read } from './pages.ts'

const usage = `node bench/large.ts --database URL [--users N] [--clients N] [--events N]
  Fills an empty database: 1000000 users, 100000 clients, 5000000 audit events, and the rest in proportion.
node bench/large.ts --database URL --pages [--generic]
  Visits every page on a filled database, as a superuser, and fails where a statement read too much. --generic: by the
  plans that serve any values. It signs people in, so take a copy: create database … template ….`

const { values } = parseArgs({
  options: {
    database: { type: 'string' },
    users: { type: 'string', default: '1000000' },
    clients: { type: 'string', default: '100000' },
    events: { type: 'string', default: '5000000' },
    pages: { type: 'boolean', default: false },
    generic: { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  },
})
if (values.database === undefined || values.help) console.log(usage)
else if (values.pages) await readPages(values.database)
else await fillUp(values.database)

async function fillUp(url: string): Promise<void> {
  await migrate(url)
  const client = new Client({ connectionString: url })
  await client.connect()
  try {
    await fill(client, wanted(), ({ table, rows, seconds }) =>
      console.log(`${table}: ${rows} rows in ${seconds.toFixed(1)} s`),
    )
    console.log('\n| table or index | rows | MiB | bytes a row |\n| --- | ---: | ---: | ---: |')
    for (const { name, bytes, rows } of await sizesOf(client)) {
      const each = rows > 0 ? (bytes / rows).toFixed(0) : '–'
      console.log(`| ${name} | ${rows} | ${(bytes / 2 ** 20).toFixed(1)} | ${each} |`)
    }
  } finally {
    await client.end()
  }
}

function wanted(): { users: number; clients: number; events: number } {
  const number = (name: 'users' | 'clients' | 'events'): number => {
    const value = Number(values[name])
    if (!(Number.isInteger(value) && value >= 1000)) throw new Error(`--${name} must be 1000 or more`)
    return value
  }
  return { users: number('users'), clients: number('clients'), events: number('events') }
}

async function readPages(url: string): Promise<void> {
  const { reads, failed, close } = await visitPages(
    url,
    values.generic ? { plan_cache_mode: 'force_generic_plan' } : {},
  )
  await close()
  console.log(
    '| statement | runs | most rows | most blocks | most ms | where most was read |\n| --- | ---: | ---: | ---: | ---: | --- |',
  )
  const groups = Object.values(Object.groupBy(reads, ({ text }) => text)) as Read[][]
  const mostOf = (group: Read[], what: 'read' | 'blocks' | 'milliseconds') =>
    Math.max(...group.map((one) => one[what]))
  for (const group of groups.toSorted((a, b) => mostOf(b, 'read') - mostOf(a, 'read'))) {
    const read = mostOf(group, 'read')
    const { page, text } = group.find((one) => one.read === read)!
    const words = text.replaceAll(/\s+/g, ' ').replaceAll('|', '\\|').slice(0, 80)
    const figures = [group.length, read, mostOf(group, 'blocks'), mostOf(group, 'milliseconds').toFixed(1)]
    console.log(`| ${[words, ...figures, page].join(' | ')} |`)
  }
  const tooMuch = reads.filter((one) => one.read > mostFor(one))
  for (const { page, read, text } of tooMuch) console.error(`${page} read ${read} rows: ${text}`)
  for (const one of failed) console.error(one)
  if (tooMuch.length + failed.length > 0) process.exitCode = 1
}
