/** The artifacts door: what a plugin stores by a handle, without the handle itself ever being stored. */
import { randomBytes } from 'node:crypto'
import type { Artifacts } from '../doors/artifacts.ts'
import type { Bag } from '../protocol/bag.ts'
import { statements } from '../store/artifacts.ts'
import type { Database } from '../store/database.ts'
import type { SecretBox } from './keys/secret-box.ts'

/** Something else is stored under the handle. */
export class HandleTaken extends Error {}

/** Artifacts of one `kind`, living `lifetime` seconds each. */
export function createArtifacts<Value extends object = Bag>(
  database: Database,
  box: SecretBox,
  kind: string,
  lifetime: number,
): Artifacts<Value> {
  if (kind === '' || !(lifetime > 0)) throw new TypeError('artifacts need a kind and a lifetime in seconds')
  const find = async (handle: string): Promise<{ value: Bag } | undefined> =>
    (await database.query(statements.get, [kind, box.hashes(handle)]))[0]

  return {
    async put(value, handle = randomBytes(32).toString('base64url'), bound) {
      const stored = [kind, box.hash(handle), value, lifetime]
      const rows =
        bound === undefined
          ? await database.query(statements.put, stored)
          : await database.query(statements.putOwned, [...stored, bound.owner, bound.most])
      if (rows.length === 0) throw new HandleTaken(`the handle of a ${kind} is taken`)
      return handle
    },
    get: async (handle) => ((await find(handle))?.value ?? null) as Value | null,
    async replace(handle, from, to) {
      const rows = await database.query(statements.replace, [kind, box.hashes(handle), from, to])
      return rows.length > 0
    },
  }
}
