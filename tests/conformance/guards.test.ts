/** That the guards which `npm run test:guards` takes out are still where it looks for them, and their modules where it expects red. */
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { CIBA_MODULES, CIBA_PREFIX } from './fapi-ciba/ledger.ts'
import { FAPI_MODULES, PREFIX } from './fapi/ledger.ts'
import { GUARDS } from './guards.ts'
import { PLANS } from './ledger.ts'
import { SSF_MODULES, SSF_PREFIX } from './ssf/ledger.ts'

const root = join(import.meta.dirname, '../..')
const modules = new Set<string>([
  ...Object.values(PLANS).flat(),
  ...FAPI_MODULES.map((module) => PREFIX + module),
  ...CIBA_MODULES.map((module) => CIBA_PREFIX + module),
  ...SSF_MODULES.map((module) => SSF_PREFIX + module),
])

test('there are more than ten, each another', () => {
  expect(GUARDS.length).toBeGreaterThanOrEqual(10)
  expect(new Set(GUARDS.map(({ file, text }) => `${file} ${text}`)).size).toBe(GUARDS.length)
})

test.each(GUARDS)('$file: $text', async ({ file, text, module, plan }) => {
  expect((await readFile(join(root, file), 'utf8')).split(text)).toHaveLength(2)
  expect([...modules]).toContain(module)
  expect(await readFile(join(import.meta.dirname, plan), 'utf8')).toMatch(/^(await )?run\w*Plan\(/m)
})
