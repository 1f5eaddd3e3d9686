/** Whatever the janitor runs reads by an index, however much of a table is alive or dead. */
import { Client } from 'pg'
import { expect, test } from 'vitest'
import { statements as auditEvents } from '../../src/store/audit-events.ts'
import { statements as authorizations } from '../../src/store/dead-authorizations.ts'
import { statements as expired } from '../../src/store/expired.ts'
import { type Statement, tableOf } from '../../src/store/statement.ts'
import { atEndOfFile } from '../support/cleanup.ts'
import {
  ALIVE, AUDIT_EXPIRE, createDatabaseForRows, DAY, DEAD, deadFamily, fill, fillFamilies, repeat, TABLES,
} from '../support/expired-rows.ts' // prettier-ignore

const MANY = 4000

/** How each reads its tables by the plan that serves any values. */
async function scansOf(client: Client, all: Record<string, [Statement<unknown>, string?]>) {
  const table = tableOf()
  const scans: Record<string, string[]> = {}
  for (const [member, [{ name, build }, values = '']] of Object.entries(all)) {
    await client.query(`prepare "${name}" as ${build(table)}`)
    const { rows } = await client.query<{ 'QUERY PLAN': string }>(`explain execute "${name}" ${values}`)
    const plan = rows.map((row) => row['QUERY PLAN'])
    scans[member] = plan.flatMap(
      (line) => line.match(/(?:Seq|Bitmap Heap|Index Only|Index) Scan.*on \w+|Sort/g) ?? [],
    )
  }
  return scans
}

test.each([
  ['most is alive', MANY, 100],
  ['most is dead', 100, MANY],
])('no statement of the janitor reads a whole table where %s', async (_, alive, dead) => {
  const rows = await createDatabaseForRows()
  for (const table of TABLES) await fill(rows, table, [...repeat(alive, ALIVE), ...repeat(dead, DEAD)])
  const living = { created: -DAY, refresh: DAY, until: DAY }
  const ofAlive = Array.from({ length: alive }, () => ({ ...deadFamily(), ...living }))
  await fillFamilies(rows, [...ofAlive, ...Array.from({ length: dead }, deadFamily)])
  await rows.query('analyze')
  const client = new Client({ connectionString: rows.url })
  await client.connect()
  atEndOfFile(async () => client.end())
  await client.query('set plan_cache_mode = force_generic_plan')
  const { due, keep, ...removals } = authorizations
  const ids = `array[${repeat(500, DEAD)
    .map(() => `gen_random_uuid()`)
    .join(', ')}]`
  const all = await scansOf(client, {
    ...Object.fromEntries(Object.entries(expired).map(([name, one]) => [name, [one]])),
    'audit events': [auditEvents.remove, `(${AUDIT_EXPIRE})`],
    due: [due, '(90000)'],
    keep: [keep, `(${ids}, array[now()])`],
    ...Object.fromEntries(
      Object.entries(removals).map(([name, one]) => [`family ${name}`, [one, `(${ids})`]]),
    ),
  })
  expect(Object.keys(all)).toHaveLength(22)
  for (const [name, scans] of Object.entries(all)) {
    expect([name, scans.filter((one) => one.startsWith('Seq'))]).toEqual([name, []])
    expect([name, scans.length]).not.toEqual([name, 0])
  }
})
