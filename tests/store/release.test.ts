/** What moves with each version, and is easily forgotten: CONTRIBUTING.md, Release. */
import packageJson from 'latchkey/package.json' with { type: 'json' }
import { expect, test } from 'vitest'
import guardJson from '../../plugins/require-scope/package.json' with { type: 'json' }
import { migrationNames, oldestBeside, versionHere } from '../../src/migrations/names.ts'

test('a new version moves oldestBeside to the last migration of the one that is out, and then versionHere', () => {
  const { version } = packageJson
  expect({ versionHere, guard: guardJson.version }).toEqual({ versionHere: version, guard: version })
  expect(migrationNames).toContain(oldestBeside)
})
