/** What the dashboard says of a database that is distributed: what lies on which server, and whether it answers. */
import { message, type Message } from '../../src/protocol/message.ts'
import { pagesEverywhere } from '../../src/store/distribution/everywhere.ts'
import { LEFT_AFTER, type Prepared, type SurveyedServer } from '../../src/store/distribution/surveyed.ts'
import { distributedTables } from '../../src/store/distribution/tables.ts'
import type { OwnArea } from './area.ts'
import type { DistributionView, HealthView } from './models.ts'

/** Null on one server, of which nothing is asked. `isServed` says of a path whether a page is there. */
export async function distributionOf(
  { kernel, oauth }: OwnArea,
  isServed: (path: string) => boolean,
): Promise<DistributionView | null> {
  const { distribution, where } = kernel.database
  if (distribution === null) return null
  const survey = await distribution.look()
  const servers: HealthView[] =
    survey === null
      ? [{ name: message('Servers of tokens'), well: false, text: message('not known: the database did not say in time') }]
      : [...survey.servers.map(viewOf), ...leftOn(where, survey.here)]
  const asking = pagesEverywhere().map((path) => `${oauth.config.basePath}${path}`)
  return { servers, asking: asking.filter(isServed) }
} // prettier-ignore

function viewOf(found: SurveyedServer): HealthView {
  const problem = problemOf(found)
  if (problem !== null) return { name: found.server, well: false, text: problem }
  const [left] = leftOn(found.server, found)
  if (left !== undefined) return left
  const bytes = found.tables.reduce((sum, table) => sum + table.bytes, 0)
  return {
    name: found.server,
    well: true,
    text: message('{megabytes, number} MB in {tables}', {
      megabytes: Math.ceil(bytes / 1_000_000),
      tables: found.tables.map(({ table }) => table),
    }),
  }
}

function problemOf({ problem, tables }: SurveyedServer): Message | null {
  if (problem !== null)
    return message('does not answer ({problem}): what lies there gets 503 until it does', { problem })
  return tables.length < distributedTables().length
    ? message('lacks tables of ours: restore its backup')
    : null
}

function leftOn(name: string, { prepared, oldest }: Prepared): HealthView[] {
  if (oldest < LEFT_AFTER) return []
  const text = message(
    '{count, plural, one {# prepared transaction waits} other {# prepared transactions wait}} for {seconds, number} s: end each by commit or rollback prepared',
    { count: prepared, seconds: Math.round(oldest) },
  )
  return [{ name, well: false, text }]
}
