/** The servers that hold a share of the tokens, where there are any: whether each answers, and what waits on it. */
import type { Place } from '../store/connections.ts'
import { survey, type SurveyedServer } from '../store/distribution/survey.ts'
import { fail, ok, warn, type Finding } from './finding.ts'

const CHECK = 'distribution'

/** Nothing is said of a database on one server. */
export async function examineDistribution(place: Place): Promise<Finding[]> {
  const { engine, servers } = await survey(place)
  if (engine === null) return []
  const wrong = servers.flatMap(problemsOf)
  return wrong.length > 0 ? wrong : [ok(CHECK, `Tokens lie on ${servers.length} servers, and each answers.`)]
}

function problemsOf({ server, problem, prepared, tables }: SurveyedServer): Finding[] {
  if (problem !== null)
    return [fail(CHECK, `${server} does not answer (${problem}): what lies there gets 503 until it does.`)]
  const lacking = tables.length < 4
  return [
    ...(lacking ? [fail(CHECK, `${server} lacks tables of ours: restore its backup.`)] : []),
    ...(prepared > 0
      ? [
          warn(
            CHECK,
            `${server} has ${prepared} prepared transactions that wait: end each by commit or rollback prepared.`,
          ),
        ]
      : []),
  ]
}
