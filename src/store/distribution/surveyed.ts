/** What a survey of a distributed database says of it, whatever distributes it. */
import type { Engine } from '../engines.ts'

export interface SurveyedTable {
  readonly table: string
  /** As PostgreSQL estimates them; null where it has not counted any yet, as of a table that was just filled. */
  readonly rows: number | null
  /** With its indexes. */
  readonly bytes: number
}

/** Transactions that were prepared (`prepare transaction`) and wait for their end: until then their rows stay locked. */
export interface Prepared {
  readonly prepared: number
  /** Seconds since the oldest of them was prepared; 0 where there is none. */
  readonly oldest: number
}

export interface SurveyedServer extends Prepared {
  /** In words for people, without credentials. */
  readonly server: string
  readonly tables: readonly SurveyedTable[]
  /** Why it cannot be asked; null where it can. */
  readonly problem: string | null
}

export interface Survey {
  /** Null where all lies on the one server. */
  readonly engine: Engine | null
  /** On the server that the processes are connected to. */
  readonly here: Prepared
  readonly servers: readonly SurveyedServer[]
}

/** Seconds after which one that was prepared is taken for left: whoever prepares one ends it at once. */
export const LEFT_AFTER = 10
/** Asked of a server about itself. */
export const PREPARED = `select count(*)::int as "prepared",
    coalesce(extract(epoch from now() - min(prepared)), 0)::float8 as "oldest"
  from pg_prepared_xacts where database = current_database()`
