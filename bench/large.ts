// Owns `node bench/large.ts`: it fills the database of a URL with as many rows as it is told, and says what they take up.

import { parseArgs } from 'node:util'
import { Client } from 'pg'
import { migrate } from '../src/store/migrate.ts'
import { fill, sizesOf } from './fill.ts'

const usage = `node bench/large.ts --database URL [--users N] [--clients N] [--events N]
  Fills an empty database: 1000000 users, 100000 clients, 5000000 audit events, and the rest in proportion.`

const { values } = parseArgs({
  options: {
    database: { type: 'string' },
    users: { type: 'string', default: '1000000' },
    clients: { type: 'string', default: '100000' },
    events: { type: 'string', default: '5000000' },
    help: { type: 'boolean', default: false },
  },
})
if (values.database === undefined || values.help) console.log(usage)
else await main(values.database)

async function main(url: string): Promise<void> {
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
