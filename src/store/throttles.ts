/**
 * Failures that all processes count together. A row's `freeAt` moves on with each failure and stays where it is with
 * time (the generic cell rate algorithm): no counter, no reset, and a failure beyond the limit changes nothing.
 */
import { Throttle } from '../entities/throttle.ts'
import { statement } from './statement.ts'

/** The account of the row that counts every failure from a source. */
export const EVERY_ACCOUNT = '*'

export interface ThrottleRow {
  source: string
  account: string
  /** Milliseconds from now until the next try; negative when it may come at once. */
  freeIn: number
}

export const statements = {
  /**
   * Counts a failure for `$1`: for each account of `$2`, which gets one failure back each `$3` milliseconds and has
   * `$4` milliseconds' worth of them at first. A row that does not come back was at its limit already. One that would stay
   * there longer than one failure takes to come back is of a clock that has been set back since, and is at its limit from now.
   */
  fail: statement<Pick<ThrottleRow, 'account' | 'freeIn'>>('throttle-fail', (table) => {
    const throttle = table(Throttle)
    const [source, account, freeAt] = (['source', 'account', 'freeAt'] as const).map((one) =>
      throttle.column(one),
    )
    const step = `(select step from spent where spent.account = had.${account}) * interval '1 millisecond'`
    // Sorted, so that two failures of one source lock their rows in one order; and by the clock, since who waited for
    // the row began before the one it waited for.
    return `with spent as (select * from unnest($2::text[], $3::float8[], $4::float8[]) as one (account, step, tolerance))
      insert into ${throttle.name} as had (${source}, ${account}, ${freeAt})
      select $1, account, now() + (step - tolerance) * interval '1 millisecond' from spent order by account
      on conflict (${source}, ${account}) do update set ${freeAt} = greatest(excluded.${freeAt},
        least(had.${freeAt}, clock_timestamp()) + ${step})
      where had.${freeAt} <= clock_timestamp() or had.${freeAt} > clock_timestamp() + ${step}
      returning ${account} as "account", (extract(epoch from ${freeAt} - clock_timestamp()) * 1000)::float8 as "freeIn"`
  }),
  forgive: statement('throttle-forgive', (table) => {
    const throttle = table(Throttle)
    return `delete from ${throttle.name} where ${throttle.column('source')} = $1 and ${throttle.column('account')} = $2`
  }),
  /** Takes back one failure that was counted for nothing: `$3` milliseconds. */
  giveBack: statement('throttle-give-back', (table) => {
    const throttle = table(Throttle)
    const freeAt = throttle.column('freeAt')
    return `update ${throttle.name} set ${freeAt} = ${freeAt} - $3::float8 * interval '1 millisecond'
      where ${throttle.column('source')} = $1 and ${throttle.column('account')} = $2`
  }),
  /**
   * All that are at their limit: few, since nobody stays there longer than one failure takes to come back. Rows that a clock which was ahead
   * has left may be many, and come last.
   */
  blocked: statement<ThrottleRow>('throttles-blocked', (table) => {
    const throttle = table(Throttle)
    const freeAt = throttle.column('freeAt')
    return `select ${throttle.columns('source', 'account')},
        (extract(epoch from ${freeAt} - now()) * 1000)::float8 as "freeIn"
      from ${throttle.name} where ${freeAt} > now() order by ${freeAt} limit 10000`
  }),
}
