/** How much each statement of the store reads where there is much, by the plan that serves any values. */
import { readdir } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { Client } from 'pg'
import { expect, test } from 'vitest'
import { fill } from '../../bench/fill.ts'
import { explainedPool, type Ran } from '../../bench/plans.ts'
import { tableOf, type Statement } from '../../src/store/statement.ts'
import { atEndOfFile } from '../support/cleanup.ts'
import { createDatabase } from '../support/database.ts'
import { questions } from './large-statements.ts'

const STORE = resolve(import.meta.dirname, '../../src/store')
const SIZES = { users: 40_000, clients: 10_000, events: 100_000 }
/** These grow with the users, and with what they do. */
const GROWING =
  /Seq Scan on (?:users|clients|client_secrets|sessions|consents|authoriz\w+|\w+_tokens|artifacts|plugin_records|registrations|spent_handles|throttles|changes|audit_events|activity)$/
/** Read from anywhere up to a limit; or wholly, which the questions say. */
const FROM_ANYWHERE = new Set(['figures-counts', 'secret-key-uses', 'revoked-tokens'])

const database = await createDatabase()
const filling = new Client({ connectionString: database.url })
await filling.connect()
await fill(filling, SIZES)
await filling.end()

const heard: Ran[] = []
const pool = explainedPool(database.url, (ran) => heard.push(ran), { plan_cache_mode: 'force_generic_plan' })
const table = tableOf()
atEndOfFile(async () => pool.end())

/** The statements that files of the store export. */
async function exported(): Promise<Statement<unknown>[]> {
  const files = (await readdir(STORE)).filter((file) => file.endsWith('.ts'))
  const modules = await Promise.all(
    files.map(async (file) => import(join(STORE, file)) as Promise<{ statements?: object }>),
  )
  return modules.flatMap(({ statements = {} }) => Object.values(statements) as Statement<unknown>[])
}

const all = await exported()

test('of every statement it is known what it is asked, and of nothing else', () => {
  expect(Object.keys(questions).toSorted()).toEqual(all.map(({ name }) => name).toSorted())
})

test.each(all.filter(({ name }) => Object.hasOwn(questions, name)))(
  '$name reads no more than it may',
  async ({ name, build }) => {
    const [values, most] = questions[name]!
    const text = build(table)
    const client = await pool.connect()
    try {
      await client.query('begin')
      await client.query({ name, text, values: values as unknown[] })
      // A statement that reads ends when the next one begins, and only then is it told of.
      await client.query('select')
    } finally {
      await client.query('rollback')
      client.release()
    }
    const { read, scans } = heard.find((one) => one.text === text)!
    expect(read).toBeLessThanOrEqual(most)
    const wholly = FROM_ANYWHERE.has(name) ? [] : scans.filter((scan) => GROWING.test(scan))
    expect(wholly).toEqual([])
  },
)
