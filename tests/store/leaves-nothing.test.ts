/** What a statement brought does not outlive it: the next collection of young objects takes it all (docs/adr/0028). */
import { resolve } from 'node:path'
import { expect, test } from 'vitest'
import { createDatabase } from '../support/database.ts'
import { run } from '../support/packages.ts'

const { url } = await createDatabase()
const asking = resolve(import.meta.dirname, '../support/rows-alive.ts')

test.each(['with readers', 'with writers'])('that travels %s', async (travels) => {
  const printed = await run(process.execPath, [asking, url, travels], import.meta.dirname)
  expect(JSON.parse(printed)).toEqual({ looked: 49, alive: 0 })
})
