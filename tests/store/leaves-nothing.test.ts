/** What a statement brought does not outlive it: the next collection of young objects takes it all (docs/adr/0028). */
import { setImmediate as turn } from 'node:timers/promises'
import v8 from 'node:v8'
import { runInNewContext } from 'node:vm'
import { expect, test } from 'vitest'
import { openDatabase } from '../../src/store/database.ts'
import { statement } from '../../src/store/statement.ts'
import { atEndOfFile } from '../support/cleanup.ts'
import { createDatabase } from '../support/database.ts'

v8.setFlagsFromString('--expose-gc')
const collect = runInNewContext('gc') as (options: { type: 'minor' }) => void

/** So often that what is in use is counted among the old objects. */
function collectYoung(): void {
  for (let time = 0; time < 3; time++) collect({ type: 'minor' })
}

const { url } = await createDatabase()
const database = await openDatabase({ url })
atEndOfFile(database.close)

test.each(['with readers', 'with writers'] as const)('that travels %s', async (travels) => {
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
  expect(rows.slice(2, -1).filter((row) => row.deref() !== undefined)).toHaveLength(0)
})
