/**
 * What is done to a role of very many in parts: each is a transaction of its own, whole, and another one goes on where it stopped, by whoever comes
 * first: the request that wanted it, the next one about the group, or the janitor of any process. The group says until the end that it is not done.
 */
import type { Bag } from '../../protocol/bag.ts'
import { OAuthError } from '../../protocol/errors.ts'
import type { Database } from '../../store/database.ts'
import { statements as records } from '../../store/plugin-records.ts'
import type { Query } from '../../store/statement.ts'
import { statements as users } from '../../store/user-roles.ts'
import type { Note } from '../audit/audit.ts'
import { actAs, currentOrigin } from '../audit/origin.ts'
import { keyOf } from './group-names.ts'
import { EMPTYING, GROUP, MOST, toGroup, toStored, WORK, type Emptying, type Work } from './group-records.ts'
import { noteRoles, type RoleChange, type RolesChanged } from './role-changes.ts'

/** Users of one part: far below what a statement may take. */
export const PART = 1000
/** Milliseconds that a request waits for the end. */
const PATIENCE = 15_000

/** What became of it: there was nothing to do, there is more, or it is done. */
type Outcome = 'nothing' | 'more' | 'renamed' | 'emptied' | 'deleted'

export interface GroupWork {
  /** With the change of the group that says so. */
  begin(query: Query, id: string, work: Pick<Work, 'from' | 'to'>): Promise<void>
  /** The same of what takes the role from all but some, where the group itself stays as it is. */
  beginEmptying(query: Query, id: string, work: Pick<Emptying, 'from' | 'keeps'>): Promise<void>
  /** Whatever is left of it. Throws `temporarily_unavailable` where that takes long. */
  finish(id: string): Promise<Outcome>
  /** One part of the first that is found: how many users that were. */
  goOn(): Promise<number>
}

interface Done {
  readonly outcome: Outcome
  readonly count: number
}

/** Of what is found at once, so that one that fails does not keep the others. */
const SEVERAL = 20

/** @internal */
export function createGroupWork(database: Database, change: RoleChange): GroupWork {
  async function part(id: string): Promise<Done> {
    const [found] = await database.query(records.get, [WORK, id])
    // The audit log names who wanted it, whoever does it.
    if (found !== undefined) {
      const { from, to, actor } = found.value as Bag as unknown as Work
      return actAs(actor, async () => change(async (query, note) => doPart(query, note, id, { from, to })))
    }
    const [emptying] = await database.query(records.get, [EMPTYING, id])
    if (emptying === undefined) return NOTHING
    const { actor, ...work } = emptying.value as Bag as unknown as Emptying
    return actAs(actor, async () => change(async (query, note) => emptyPart(query, note, id, work)))
  }

  async function put(
    query: Query,
    kind: string,
    id: string,
    work: Omit<Work | Emptying, 'actor'>,
  ): Promise<void> {
    const stored = JSON.stringify({ ...work, actor: currentOrigin().actor })
    const [row] = await query(records.put, [kind, id, stored, keyOf(work.from), MOST])
    if (row?.stored !== true) throw beingChanged(work.from)
  }

  return {
    begin: async (query, id, work) => put(query, WORK, id, work),
    beginEmptying: async (query, id, work) => put(query, EMPTYING, id, work),
    async finish(id) {
      for (const end = performance.now() + PATIENCE; ;) {
        const { outcome } = await part(id)
        if (outcome !== 'more') return outcome
        if (performance.now() > end) throw beingChanged()
      }
    },
    async goOn() {
      const failures: unknown[] = []
      const kinds = [WORK, EMPTYING].map(async (kind) => database.query(records.list, [kind, '', SEVERAL]))
      for (const { id } of (await Promise.all(kinds)).flat())
        try {
          const { count } = await part(id)
          if (count > 0) return count
        } catch (error) {
          failures.push(error)
        }
      if (failures.length > 0) throw failures[0]
      return 0
    },
  }
}

const NOTHING: Done = { outcome: 'nothing', count: 0 }

/** The group first, so that of two who do it one waits for the other. */
async function doPart(
  query: Query,
  note: Note,
  id: string,
  { from, to }: Pick<Work, 'from' | 'to'>,
): Promise<RolesChanged<Done>> {
  const [row] = await query(records.lock, [GROUP, id])
  const [left] = await query(records.get, [WORK, id])
  if (left === undefined) return { result: NOTHING, changed: [] }
  // A process of an earlier version deletes a group and knows of no work: then nobody keeps what they have of it.
  const some =
    to === null || row === undefined
      ? await query(users.takeRoleFromSome, [from, PART])
      : await query(users.renameRoleOfSome, [from, to, PART])
  const changed = noteRoles(note, some)
  const count = changed.length
  if (count === PART) return { result: { outcome: 'more', count }, changed }
  await query(records.delete, [WORK, id])
  if (to !== null && row !== undefined) {
    const group = toStored({ ...toGroup(row), former: null })
    await query(records.replace, [GROUP, id, group, keyOf(to), row.revision])
    return { result: { outcome: 'renamed', count }, changed }
  }
  await query(records.delete, [GROUP, id])
  note({ type: 'role.deleted', details: { role: from } })
  return { result: { outcome: 'deleted', count }, changed }
}

/** The group has another version after it. */
async function emptyPart(
  query: Query,
  note: Note,
  id: string,
  { from, keeps }: Pick<Emptying, 'from' | 'keeps'>,
): Promise<RolesChanged<Done>> {
  const [row] = await query(records.lock, [GROUP, id])
  const [left] = await query(records.get, [EMPTYING, id])
  if (left === undefined) return { result: NOTHING, changed: [] }
  const some = await query(users.takeRoleFromSomeOthers, [from, PART, keeps])
  const changed = noteRoles(note, some)
  const count = changed.length
  if (count === PART) return { result: { outcome: 'more', count }, changed }
  await query(records.delete, [EMPTYING, id])
  if (row !== undefined)
    await query(records.replace, [GROUP, id, toStored(toGroup(row)), keyOf(toGroup(row).role), row.revision])
  return { result: { outcome: 'emptied', count }, changed }
}

/** Of a role that many have, and which is taken from them, or called otherwise, just now. */
export function beingChanged(role?: string): OAuthError {
  const which = role === undefined ? 'a role of many users' : 'this role, which many users have,'
  return new OAuthError('temporarily_unavailable', `${which} is being renamed or deleted; try again`)
}
