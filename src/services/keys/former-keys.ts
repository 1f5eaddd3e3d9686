/**
 * Records under a former SECRET_KEY, of users and of plugins: the janitor brings them under the first one, so that former ones can go though
 * nobody comes for the records.
 */
import type { Database } from '../../store/database.ts'
import { statements as plugins, type PlacedPluginRecordRow } from '../../store/plugin-records.ts'
import { statements as users, type PlacedRecordRow } from '../../store/user-records.ts'
import type { SecretBox } from './secret-box.ts'

/** What the seal of a user's record names beside it, so that it is good in its own place alone. */
export function userRecordContext(kind: string, userId: string, id: string): string {
  return `user-record ${kind} ${userId} ${id}`
}

/** The same of a plugin's. */
export function pluginRecordContext(kind: string, id: string): string {
  return `plugin-record ${kind} ${id}`
}

/** Milliseconds from the end of all to the next beginning: until then other processes may go on with the former key. */
const PAUSE = 3_600_000
const NIL = '00000000-0000-0000-0000-000000000000'

/** One table of records: how the next ones are found, and how one is sealed anew. */
interface Sealed<Row> {
  after(last: Row | undefined): Promise<readonly Row[]>
  reseal(row: Row): Promise<void>
}

/**
 * Looks through the next ones, and seals anew what a former key sealed; returns how many it looked at, 0 at the end of all and for a while
 * behind it. What no key fits stays as it is, which `doctor` tells.
 */
export type ResealRecords = () => Promise<number>

function resealAll<Row>({ after, reseal }: Sealed<Row>): ResealRecords {
  let last: Row | undefined
  let restsUntil = -Infinity
  return async () => {
    if (performance.now() < restsUntil) return 0
    const rows = await after(last)
    for (const row of rows) await reseal(row)
    last = rows.at(-1)
    if (last === undefined) restsUntil = performance.now() + PAUSE
    return rows.length
  }
}

/** The value under the first key; null where it is so already, or cannot be read. */
function anew(box: SecretBox, sealed: unknown, context: string): string | null {
  // A value without a seal may have any form.
  if (typeof sealed !== 'string' || box.isCurrent(sealed)) return null
  const text = box.tryOpen(sealed, context)
  return text === null ? null : box.seal(text, context)
}

/** @internal */
export function createResealUserRecords({ query }: Database, box: SecretBox): ResealRecords {
  return resealAll<PlacedRecordRow>({
    after: async ({ userId, kind, id } = { userId: NIL, kind: '', id: '', value: {} }) =>
      query(users.next, [userId, kind, id]),
    async reseal({ userId, kind, id, value }) {
      const sealed = anew(box, value['sealed'], userRecordContext(kind, userId, id))
      if (sealed !== null) await query(users.reseal, [userId, kind, id, { sealed }, value])
    },
  })
}

/** @internal */
export function createResealPluginRecords({ query }: Database, box: SecretBox): ResealRecords {
  return resealAll<PlacedPluginRecordRow>({
    after: async ({ kind, id } = { kind: '', id: '', value: null }) => query(plugins.next, [kind, id]),
    async reseal({ kind, id, value }) {
      const sealed = anew(box, value, pluginRecordContext(kind, id))
      if (sealed !== null)
        await query(plugins.reseal, [kind, id, JSON.stringify(sealed), JSON.stringify(value)])
    },
  })
}
