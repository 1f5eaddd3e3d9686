/**
 * A process for `tests/store/leaves-nothing.test.ts`: asks the database of the first argument for rows again and again, as
 * the second one says that they travel, and prints how many of them the next collection of young objects left. It is one
 * of its own, since a heap that others fill collects when it likes, and keeps what it then finds in use.
 */
import { setImmediate as turn } from 'node:timers/promises'
import v8 from 'node:v8'
import { runInNewContext } from 'node:vm'
import { openDatabase } from '../../src/store/database.ts'
import { statement } from '../../src/store/statement.ts'

v8.setFlagsFromString('--expose-gc')
const collect = runInNewContext('gc') as (options: { type: 'minor' }) => void

/** So often that what is in use is counted among the old objects. */
function collectYoung(): void {
  for (let time = 0; time < 3; time++) collect({ type: 'minor' })
}

const [, , url, travels] = process.argv as [string, string, string, 'with readers' | 'with writers']
const database = await openDatabase({ url })
const find = statement<{ names: string[] }>(
  `rows ${travels}`,
  () => `select array['openid', 'profile'] as names where $1::text is not null`,
  travels,
)
const rows: WeakRef<object>[] = []
const ask = async (): Promise<void> => {
  const [row] = await database.query(find, ['one'])
  rows.push(new WeakRef(row!))
}
await ask()

// What is under way meanwhile grows old, and must not keep what comes after it.
const underWay = ask()
await turn()
collectYoung()
await underWay
for (let asked = 0; asked < 50; asked++) await ask()

await turn()
collectYoung()
const looked = rows.slice(2, -1)
const alive = looked.filter((row) => row.deref() !== undefined)
console.log(JSON.stringify({ looked: looked.length, alive: alive.length }))
await database.close()
