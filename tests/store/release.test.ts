/** What moves with each version, and is easily forgotten: CONTRIBUTING.md, Release. */
import packageJson from 'latchkey/package.json' with { type: 'json' }
import { expect, test } from 'vitest'
import guardJson from '../../plugins/require-scope/package.json' with { type: 'json' }
import { migrationNames, oldestBeside, versionHere } from '../../src/migrations/names.ts'

test('with a new version, which version may run beside it is said anew', () => {
  const forgotten =
    'a new version: move oldestBeside to the last migration of the one that is out, then versionHere'
  expect(versionHere, forgotten).toBe(packageJson.version)
  expect(guardJson.version, 'the package beside it').toBe(packageJson.version)
  expect(migrationNames).toContain(oldestBeside)
})
