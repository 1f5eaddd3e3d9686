/** Until when browsers that a user has signed in from are strangers to them again. */
import { User } from '../entities/user.ts'
import { CLOCK_SKEW } from '../protocol/signed-jwt.ts'
import { statement } from './statement.ts'

/** Seconds that a sign-in may be ahead: as for `ageOf`, by which one that is further ahead says nothing of when it was. */
const AHEAD = CLOCK_SKEW

export const statements = {
  /**
   * A row where the user $1, who may sign in, is still known to browsers that signed in at $2; a sign-in from ahead of our clock counts
   * as before any end.
   */
  knowsBrowsersOf: statement<Pick<User, 'id'>>('user-knows-browsers', (table) => {
    const user = table(User)
    return `select ${user.columns('id')} from ${user.name}
      where ${user.column('id')} = $1 and ${user.column('disabledAt')} is null
        and (${user.column('strangersBefore')} is null or $2::timestamptz
          between ${user.column('strangersBefore')} and now() + interval '${AHEAD} seconds')`
  }),
  /**
   * Makes a stranger of whoever signed in before $2, or before now where $2 is not of a right clock: were that ahead, no browser would be
   * known until then. Nor does one that is behind take an earlier end back.
   */
  forgetBrowsers: statement('user-forget-browsers', (table) => {
    const user = table(User)
    const before = user.column('strangersBefore')
    const skew = `interval '${AHEAD} seconds'`
    const [least, most] = [`clock_timestamp() - ${skew}`, `clock_timestamp() + ${skew}`]
    return `update ${user.name} set ${before} = greatest(
        case when $2::timestamptz between ${least} and ${most} then $2::timestamptz else date_trunc('milliseconds', clock_timestamp()) end,
        case when ${before} <= ${most} then ${before} end)
      where ${user.column('id')} = $1`
  }),
}
