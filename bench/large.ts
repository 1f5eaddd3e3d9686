// Owns `node bench/large.ts`: it fills the database of a URL with as many rows as it is told and says what they take up;
// or visits every page on a database that is filled, and says how much each statement read.

import { parseArgs } from 'node:util'
import { Client } from 'pg'
import { migrate } from '../src/store/migrate.ts'
import { fill, sizesOf, type Filled } from './fill.ts'
import type { Sizes } from './filling.ts'
import { mostFor } from './page-bounds.ts'
import { visitPages, type Read } from './pages.ts'
import { writeSizes } from './row-sizes.ts'

const usage = `node bench/large.ts --database URL [--users N] [--clients N] [--authorizations N] [--events N] [--write]
  Fills an empty database: 1000000 users, 100000 clients, 10000000 Authorizations with their refresh tokens, 100000
  audit events, and the rest in proportion. PostgreSQL is fastest with wal_level=minimal, max_wal_senders=0, max_wal_size=16GB and
  shared_buffers=2GB. --write: what a row takes up goes to docs/capacity.md.
node bench/large.ts --database URL --pages [--generic]
  Visits every page on a filled database, as a superuser, and fails where a statement read too much. --generic: by the
  plans that serve any values. It signs people in, so take a copy: create database … template ….`

const { values } = parseArgs({
  options: {
    database: { type: 'string' },
    users: { type: 'string', default: '1000000' },
    clients: { type: 'string', default: '100000' },
    authorizations: { type: 'string', default: '10000000' },
    events: { type: 'string', default: '100000' },
    write: { type: 'boolean', default: false },
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
  const [client, second] = [new Client({ connectionString: url }), new Client({ connectionString: url })]
  await Promise.all([client.connect(), second.connect()])
  try {
    const began = performance.now()
    const tell = ({ table, rows, seconds }: Filled) =>
      console.log(`${table}: ${rows} rows in ${seconds.toFixed(1)} s`)
    await fill(client, wanted(), tell, second)
    console.log(`${((performance.now() - began) / 60_000).toFixed(1)} minutes`)
    const sizes = await sizesOf(client)
    console.log('\n| table or index | rows | MiB | bytes a row |\n| --- | ---: | ---: | ---: |')
    for (const { name, bytes, rows } of sizes) {
      const each = rows > 0 ? (bytes / rows).toFixed(0) : '–'
      console.log(`| ${name} | ${rows} | ${(bytes / 2 ** 20).toFixed(1)} | ${each} |`)
    }
    if (values.write) writeSizes(sizes)
  } finally {
    await Promise.all([client.end(), second.end()])
  }
}

function wanted(): Required<Sizes> {
  const number = (name: 'users' | 'clients' | 'authorizations' | 'events'): number => {
    const value = Number(values[name])
    if (!(Number.isInteger(value) && value >= 1000)) throw new Error(`--${name} must be 1000 or more`)
    return value
  }
  return {
    users: number('users'),
    clients: number('clients'),
    events: number('events'),
    authorizations: number('authorizations'),
  }
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
