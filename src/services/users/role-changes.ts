/** Changes of the roles of many at once: told to every process, and to the audit log user by user. */
import { recordChanges } from '../../store/changes.ts'
import { statements as records } from '../../store/plugin-records.ts'
import type { Query } from '../../store/statement.ts'
import type { ChangedRolesRow } from '../../store/user-roles.ts'
import type { AuditTrail, Note } from '../audit/audit.ts'
import type { ChangeFeed } from '../change-feed.ts'
import { keyOf } from './group-names.ts'
import { GROUP } from './group-records.ts'

/** What a transaction has done, and whose roles it changed. */
export interface RolesChanged<T> {
  readonly result: T
  readonly changed: readonly string[]
}

export type RoleChange = <T>(work: (query: Query, note: Note) => Promise<RolesChanged<T>>) => Promise<T>

/** @internal */
export function createRoleChange(audit: AuditTrail, feed: ChangeFeed): RoleChange {
  return async (work) => {
    const { result, changed } = await audit.transaction(async (query, note) => {
      const done = await work(query, note)
      await recordChanges(query, 'user', done.changed)
      return done
    })
    if (changed.length > 0) await feed.announceAll('user', changed)
    return result
  }
}

/**
 * Notes whose roles were changed, and returns them.
 * @internal
 */
export function noteRoles(note: Note, rows: readonly ChangedRolesRow[]): readonly string[] {
  for (const { id: user, before, roles } of rows)
    note({ type: 'user.changed', user, details: { changes: { roles: [before, roles] } } })
  return rows.map(({ id }) => id)
}

/**
 * The groups that somebody has come to, or has left, by a change of the user: they are others than was read. Comes before the user's own row is
 * locked, as in changes of groups, so that none waits for one who waits for it; last in its transaction for what nobody knew then, without those that
 * are `touched` already. Returns the roles.
 * @internal
 */
export async function touchGroups(
  query: Query,
  before: readonly string[],
  after: readonly string[],
  touched: readonly string[] = [],
): Promise<readonly string[]> {
  const changed = [
    ...before.filter((role) => !after.includes(role)),
    ...after.filter((role) => !before.includes(role)),
  ].filter((role) => !touched.includes(role))
  if (changed.length > 0) await query(records.touch, [GROUP, changed.map(keyOf)])
  return changed
}
