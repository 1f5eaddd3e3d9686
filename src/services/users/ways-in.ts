/** How a user can sign in now: by a password, by a record of a plugin's, or by a method that needs neither. */
import type { SignInMethod } from '../../doors/sign-in.ts'
import type { RecordOptions } from '../../doors/user-records.ts'
import type { Query } from '../../store/statement.ts'
import { statements, type WayInRow } from '../../store/user-records.ts'
import { statements as users } from '../../store/users.ts'
import type { RecordValues } from './record-values.ts'
import { toUser } from './user.ts'

/** In a transaction that has locked the user, what it answers stays so. */
export type WaysIn = (query: Query, userId: string) => Promise<readonly WayInRow[]>

/** By their names; asked once the server has started. */
export type SignInMethods = () => ReadonlyMap<string, Pick<SignInMethod, 'isWayIn'>>

/** @internal */
export function createWaysIn(
  kinds: ReadonlyMap<string, RecordOptions>,
  values: Pick<RecordValues, 'open'>,
  signInMethods: SignInMethods,
): WaysIn {
  async function leadsIn({ way, id, value }: WayInRow, userId: string): Promise<boolean> {
    if (id === null) return true
    const signsIn = kinds.get(way)?.signsIn ?? false
    return typeof signsIn === 'boolean' ? signsIn : signsIn(values.open(way, userId, { id, value }))
  }

  /** The methods that are a way in by themselves. */
  async function methodsBy(query: Query, userId: string): Promise<WayInRow[]> {
    const methods = [...signInMethods()].filter(([, { isWayIn }]) => isWayIn !== undefined)
    const [row] = methods.length === 0 ? [] : await query(users.byId, [userId])
    if (row === undefined) return []
    const user = toUser(row)
    return methods
      .filter(([, { isWayIn }]) => isWayIn!(user))
      .map(([way]) => ({ way, id: null, value: null }))
  }

  return async (query, userId) => {
    const signingIn = [...kinds].filter(([, { signsIn = false }]) => signsIn !== false).map(([kind]) => kind)
    const rows = await query(statements.waysIn, [userId, signInMethods().has('password'), signingIn])
    const lead = await Promise.all(rows.map(async (row) => leadsIn(row, userId)))
    return [...rows.filter((_row, index) => lead[index]), ...(await methodsBy(query, userId))]
  }
}
