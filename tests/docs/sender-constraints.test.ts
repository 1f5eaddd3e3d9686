/** docs/doors/sender-constraints.md: its feature is the file that tests/flows/stranger-dpop.test.ts installs and judges. */
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { checkout, openPage } from './page.ts'

test('the plugin and the API are those that a stranger installs', async () => {
  const page = await openPage('doors/sender-constraints.md')
  for (const file of ['dpop.ts', 'api.ts'])
    expect(page.next('ts')).toBe(await readFile(join(checkout, 'tests/strangers/dpop', file), 'utf8'))
  page.end()
})
