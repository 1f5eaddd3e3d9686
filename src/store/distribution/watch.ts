/**
 * What a process that serves can say of its distributed database at any moment: where the tables lie, which server does not answer, and
 * what asked all of them. Whoever looks waits for no server that hangs, and never for an error.
 */
import pg from 'pg'
import { onBorrowed } from '../connections.ts'
import { STATEMENT_LIMIT } from '../session-limits.ts'
import type { Engine } from '../engines.ts'
import { ASKED_BY } from './everywhere.ts'
import { surveyCitus } from './citus-survey.ts'
import type { Asking } from './definition.ts'
import { layoutOf, surveyForeign } from './survey.ts'
import type { Survey } from './surveyed.ts'

export interface Distribution {
  /** How often this process sent each statement that asks every server, by its name. */
  readonly asked: ReadonlyMap<string, number>
  /** Of now, or of 5 seconds ago at most; null while the server in front does not answer. */
  look(): Promise<Survey | null>
}

export interface OwnDistribution extends Distribution {
  /** Counts it, if it is one that asks every server. */
  count(statement: string): void
}

/** Milliseconds: for how long a survey serves, how long a server has to answer, and all of them with the one in front. */
const [KEPT, LIMIT, PATIENCE] = [5000, 1000, 1500]

export function watchDistribution(
  pool: pg.Pool,
  schema: string | undefined,
  engine: Engine,
): OwnDistribution {
  const asked = new Map([...ASKED_BY.keys()].map((name) => [name, 0]))
  let last: { at: number; survey: Survey } | undefined
  let underWay: Promise<Survey | null> | undefined

  const asking = async <T>(work: (client: Asking) => Promise<T>): Promise<T> =>
    onBorrowed(pool, async (client) =>
      work({
        query: async <Row extends pg.QueryResultRow>(text: string) =>
          client.query<Row>({ text, types: pg.types, query_timeout: STATEMENT_LIMIT } as pg.QueryConfig),
      }),
    )

  /** Where we ask the others, the connection goes back before. */
  const ask = async (): Promise<Survey> =>
    engine === 'citus'
      ? asking(async (client) => surveyCitus(client, LIMIT))
      : surveyForeign(await asking(async (client) => layoutOf(client, schema)), LIMIT)

  async function take(): Promise<Survey | null> {
    try {
      const survey = await ask()
      last = { at: performance.now(), survey }
      return survey
    } catch {
      return null
    } finally {
      underWay = undefined
    }
  }

  return {
    asked,
    count(statement) {
      const had = asked.get(statement)
      if (had !== undefined) asked.set(statement, had + 1)
    },
    async look() {
      if (last !== undefined && performance.now() - last.at < KEPT) return last.survey
      underWay ??= take()
      return inTime(underWay)
    },
  }
}

async function inTime(survey: Promise<Survey | null>): Promise<Survey | null> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<null>((resolve) => (timer = setTimeout(resolve, PATIENCE, null)))
  return Promise.race([survey, late]).finally(() => clearTimeout(timer))
}
