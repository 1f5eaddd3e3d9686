/** The servers that hold a share of the tokens, where there are any: what lies where, whether each answers, and what waits on it. */
import type { Config } from '../config.ts'
import type { Place } from '../store/connections.ts'
import { engineOf } from '../store/distribution/engine.ts'
import { pagesEverywhere } from '../store/distribution/everywhere.ts'
import { survey } from '../store/distribution/survey.ts'
import { LEFT_AFTER, type Prepared, type SurveyedServer } from '../store/distribution/surveyed.ts'
import { distributedTables } from '../store/distribution/tables.ts'
import { fail, ok, warn, type Finding } from './finding.ts'

const CHECK = 'distribution'

/** Nothing is said of a database on one server. */
export async function examineDistribution(
  place: Place,
  { WITHOUT }: Pick<Config, 'WITHOUT'>,
): Promise<Finding[]> {
  if ((await engineOf(place)) === null) return []
  const { here, servers } = await survey(place)
  const wrong = [...leftOn('This server', here), ...servers.flatMap(problemsOf)]
  const tables = distributedTables().map(({ bare }) => bare)
  const pages = pagesEverywhere(WITHOUT)
  const where = servers.map(({ server }) => server).join(', ')
  return [
    ...(wrong.length > 0
      ? wrong
      : [ok(CHECK, `Tokens lie on ${servers.length} servers, and each answers.`)]),
    ok(CHECK, `${tables.slice(0, -1).join(', ')} and ${tables.at(-1)} lie on ${where}; all else on this server.`),
    ...(pages.length > 0 ? [ok(CHECK, `Each of these pages asks all of them: ${pages.join(', ')}.`)] : []),
  ] // prettier-ignore
}

function problemsOf({ server, problem, tables, ...prepared }: SurveyedServer): Finding[] {
  if (problem !== null)
    return [fail(CHECK, `${server} does not answer (${problem}): what lies there gets 503 until it does.`)]
  const lacking = tables.length < distributedTables().length
  return [
    ...(lacking ? [fail(CHECK, `${server} lacks tables of ours: restore its backup.`)] : []),
    ...leftOn(server, prepared),
  ]
}

/** Whoever prepares a transaction ends it at once: what is older was left, and keeps its rows locked. */
function leftOn(server: string, { prepared, oldest }: Prepared): Finding[] {
  if (oldest < LEFT_AFTER) return []
  const what = prepared === 1 ? 'a prepared transaction that waits' : `${prepared} prepared transactions that wait`
  return [
    warn(
      CHECK,
      `${server} has ${what}, for ${Math.round(oldest)} s: who asks for its rows gets 503. End each by commit or rollback prepared.`,
    ),
  ]
} // prettier-ignore
