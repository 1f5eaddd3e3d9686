/** The artifacts door: what a plugin stores by a handle, without the handle itself ever being stored. */
import { randomBytes } from 'node:crypto'
import type { Artifacts } from '../doors.ts'
import { statements } from '../store/artifacts.ts'
import type { Database } from '../store/database.ts'
import type { SecretBox } from './secret-box.ts'

/** Artifacts of one `kind`, living `lifetime` seconds each. */
export function createArtifacts(
  database: Database,
  box: SecretBox,
  kind: string,
  lifetime: number,
): Artifacts {
  if (kind === '' || !(lifetime > 0)) throw new TypeError('artifacts need a kind and a lifetime in seconds')
  const find = async (handle: string): Promise<{ value: Record<string, unknown> } | undefined> =>
    (await database.query(statements.get, [kind, box.hashes(handle)]))[0]

  return {
    async put(value, handle = randomBytes(32).toString('base64url')) {
      const rows = await database.query(statements.put, [kind, box.hash(handle), value, lifetime])
      if (rows.length === 0) throw new Error(`the handle of a ${kind} is taken`)
      return handle
    },
    get: async (handle) => (await find(handle))?.value ?? null,
    async replace(handle, from, to) {
      const rows = await database.query(statements.replace, [kind, box.hashes(handle), from, to])
      return rows.length > 0
    },
  }
}
