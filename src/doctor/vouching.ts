/** Clients whose rules of token exchange this version refuses, as they were registered before it: they get no ID-JAG any more. */
import { assertVouchingRules } from '../../plugins/token/grants/token-exchange/vouching-rules.ts'
import type { Config } from '../config.ts'
import { OAuthError } from '../protocol/errors.ts'
import { statements, type ExchangingRow } from '../store/clients.ts'
import type { Database } from '../store/database.ts'
import { everyPage } from '../store/every-page.ts'
import { warn, type Finding } from './finding.ts'

const CHECK = 'token exchange'
/** Clients that are read at once, and that are told. */
const [PAGE, TOLD] = [1000, 10]

/** Nothing is said where all is well. */
export async function examineVouching(
  { query }: Pick<Database, 'query'>,
  { WITHOUT }: Config,
): Promise<Finding[]> {
  if (WITHOUT.includes('latchkey-token-exchange')) return []
  const clients = await everyPage(
    (after) => query(statements.exchanging, [after, PAGE]),
    PAGE,
    ({ clientId }) => clientId,
  )
  const problems = clients.flatMap(problemOf)
  const more = problems.length - TOLD
  return [
    ...problems.slice(0, TOLD).map((problem) => warn(CHECK, problem)),
    ...(more > 0 ? [warn(CHECK, `${more} more are like these.`)] : []),
  ]
}

function problemOf({ clientId, rules, subjectType }: ExchangingRow): string[] {
  try {
    assertVouchingRules({
      client_id: clientId,
      token_exchange: rules,
      ...(subjectType === null ? {} : { subject_type: subjectType }),
    })
    return []
  } catch (error) {
    if (!(error instanceof OAuthError)) throw error
    return [
      `${JSON.stringify(clientId)} has a rule by which it gets no ID-JAG any more: ${error.message}. Mend it by \`client update ${clientId} --token-exchange\`, or at /admin.`,
    ]
  }
}
