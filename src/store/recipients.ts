/** Whom deliveries are for: who fails is tried less, and what became of the last ones is kept for people. */
import { OutboxEntry } from '../entities/outbox-entry.ts'
import { type Outcome, Recipient } from '../entities/recipient.ts'
import { statement, type Table, type TableOf } from './statement.ts'

export type { Outcome }

export interface Failed {
  failures: number
  /** Milliseconds. */
  rest: number
}

/** One of a kind, with what waits for it and what was given up, as far as was asked. */
export interface RecipientRow {
  recipient: string
  failures: number
  failingSince: Date | null
  restsUntil: Date | null
  outcomes: readonly Outcome[]
  waiting: number
  givenUp: number
  crowded: boolean
}

/** Seconds between two tries of who fails, at most: one or less at first, and doubled with each failure. */
const LONGEST_REST = 300
/** Outcomes that are kept. */
const KEPT = 20

export const statements = {
  /** Once more, the recipient $2 of the kind $1. */
  failed: statement<Failed>('recipient-failed', (table) => {
    const known = table(Recipient)
    const [kind, recipient] = [known.column('kind'), known.column('recipient')]
    const [failures, since, until] = [known.column('failures'), known.column('failingSince'), known.column('restsUntil')]
    const own = (column: string) => `${known.name}.${column}`
    return `insert into ${known.name} (${kind}, ${recipient}, ${failures}, ${since}) values ($1, $2, 1, now())
      on conflict (${kind}, ${recipient}) do update set ${failures} = ${own(failures)} + 1, ${since} = coalesce(${own(since)}, now()),
        ${until} = now() + make_interval(secs => least(power(2, least(${own(failures)}, 20) - 1), ${LONGEST_REST}) * (0.5 + random())),
        ${known.column('seenAt')} = now()
      returning ${known.columns('failures')}, coalesce(extract(epoch from ${own(until)} - now()) * 1000, 0)::float8 as "rest"`
  }),
  /** It took something; a row where it had not before. */
  well: statement<{ well: true }>('recipient-well', (table) => {
    const known = table(Recipient)
    return `update ${known.name} set ${known.column('failures')} = 0, ${known.column('failingSince')} = null, ${known.column('restsUntil')} = null
      where ${known.column('kind')} = $1 and ${known.column('recipient')} = $2 and ${known.column('failures')} > 0
      returning true as "well"`
  }),
  /** What became of attempts, $3 as JSON, the latest first. */
  note: statement('recipient-note', (table) => {
    const known = table(Recipient)
    const [kind, recipient, outcomes] = [known.column('kind'), known.column('recipient'), known.column('outcomes')]
    return `insert into ${known.name} (${kind}, ${recipient}, ${outcomes}) values ($1, $2, $3::jsonb)
      on conflict (${kind}, ${recipient}) do update set ${known.column('seenAt')} = now(),
        ${outcomes} = (select coalesce(jsonb_agg(one order by place), '[]')
          from jsonb_array_elements(excluded.${outcomes} || ${known.name}.${outcomes}) with ordinality as all_of (one, place) where place <= ${KEPT})`
  }),
  /** Those of the kind $1 by the names $2, also who is not known yet; of what waits and what was given up as many as $3; crowded where $4 or more wait. */
  list: statement<RecipientRow>('recipients-list', (table) => {
    const [known, entry] = [table(Recipient), table(OutboxEntry)]
    const those = (which: string) => `(select from ${entry.name}
      where ${entry.column('kind')} = $1 and ${entry.column('recipient')} = name and ${entry.column('recipient')} <> '' and ${which})`
    const count = (which: string) => `(select count(*)::int from (select from ${those(which)} limit $3) counted)`
    const waits = `${entry.column('givenUpAt')} is null`
    return `select name as "recipient", coalesce(${known.column('failures')}, 0) as "failures", ${known.columns('failingSince', 'restsUntil')},
        coalesce(${known.column('outcomes')}, '[]') as "outcomes",
        ${count(waits)} as "waiting", exists (select from ${those(waits)} offset $4::int - 1 limit 1) as "crowded",
        ${count(`${entry.column('triesUntil')} <= now()`)} as "givenUp"
      from unnest($2::text[]) with ordinality as wanted (name, place)
      left join ${known.name} on ${known.column('kind')} = $1 and ${known.column('recipient')} = name order by place`
  }),
  /** One of whom more than $1 were given up. */
  inExcess: statement<Pick<Recipient, 'kind' | 'recipient'>>('recipients-in-excess', (table) =>
    havingMore(table, (entry) => `${entry.column('triesUntil')} <= now()`),
  ),
  /** One of whom more than $1 wait. */
  waitsInExcess: statement<Pick<Recipient, 'kind' | 'recipient'>>('recipients-wait-in-excess', (table) =>
    havingMore(table, (entry) => `${entry.column('givenUpAt')} is null`),
  ),
} // prettier-ignore

function havingMore(table: TableOf, which: (entry: Table<OutboxEntry>) => string): string {
  const [known, entry] = [table(Recipient), table(OutboxEntry)]
  const same = (['kind', 'recipient'] as const).map(
    (one) => `${entry.name}.${entry.column(one)} = ${known.name}.${known.column(one)}`,
  )
  return `select ${known.columns('kind', 'recipient')} from ${known.name}
    where exists (select from ${entry.name} where ${same.join(' and ')} and ${entry.name}.${entry.column('recipient')} <> ''
      and ${which(entry)} offset $1::int limit 1) limit 1`
}
