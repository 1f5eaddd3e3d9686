/** The database: whether it is there, is one that we can trust with tokens, and has the schema of this version. */
import type { Config } from '../config.ts'
import { lossesOf } from '../services/durability.ts'
import { describePlace } from '../store/database.ts'
import { sqlState } from '../store/failures.ts'
import { findLater, type LaterVersion, missingMigrations } from '../store/migrate.ts'
import { keepsPrepared } from '../store/prepared.ts'
import { readServerFacts, type ServerFacts } from '../store/server-facts.ts'
import { remedyOf } from '../words/database-refusal.ts'
import { examineDistribution } from './distribution.ts'
import { examineReplica } from './replica.ts'
import { examineContent } from './content.ts'
import { fail, ok, warn, type Finding } from './finding.ts'

const CHECK = 'database'
const POOLED =
  'A pooler in front of it loses prepared statements: set DATABASE_PREPARE=false, or let it keep them (max_prepared_statements of PgBouncer 1.21).'

export async function examineDatabase(
  config: Config,
  url: string,
  secretKey: readonly string[],
): Promise<Finding[]> {
  const place = { url, schema: config.DATABASE_SCHEMA }
  const where = describePlace(place)
  try {
    const asked = Date.now()
    const facts = await readServerFacts(place)
    const later = await findLater(place)
    if (later?.isWelcoming === false)
      return [fail('schema', `It is that of a later version (${later.newest}): start that one.`)]
    const missing = await missingMigrations(place)
    if (config.DATABASE_PREPARE && !(await keepsPrepared(place))) return [fail(CHECK, POOLED)]
    return [
      ok(CHECK, `PostgreSQL ${Math.floor(facts.version / 10_000)} answers at ${where}.`),
      ...examineServer(facts, config),
      ...examineTime(facts, asked),
      examineConnections(config, facts),
      examineSchema(missing, later, facts),
      ...(missing.length === 0 ? await examineReplica(place, config) : []),
      ...(missing.length === 0 ? await examineDistribution(place, config) : []),
      ...(missing.length === 0 ? await examineContent(place, config, secretKey) : []),
    ]
  } catch (error) {
    const why = sqlState(error) ?? (error as Error).message
    const remedy = remedyOf(error as Error) ?? 'see that it runs and is reached by DATABASE_URL'
    return [fail(CHECK, `The database at ${where} cannot be used (${why}): ${remedy}.`)]
  }
}

/** What of its settings would lose or mix up what we store. */
function examineServer(facts: ServerFacts, { production, DATABASE_URL }: Config): Finding[] {
  const { version, encoding, folds, isolation, readOnly, superuser } = facts
  const wrong: (Finding | false)[] = [
    version < 150_000 && fail(CHECK, 'It is older than PostgreSQL 15: upgrade it.'),
    encoding !== 'UTF8' && fail(CHECK, `Its encoding is ${encoding}: create it anew with UTF8.`),
    !folds &&
      warn(
        CHECK,
        'Its locale does not make i of I, as Turkish does not, so searches miss names with an I: create it anew with another, such as C.UTF-8.',
      ),
    readOnly &&
      fail(CHECK, 'It only reads: let DATABASE_URL name the primary, by a name or proxy that follows it.'),
    isolation !== 'read committed' &&
      warn(
        CHECK,
        `Its default_transaction_isolation is ${isolation}, which makes us try again often: use read committed.`,
      ),
    // Of the embedded one it is the only role, and nobody else can reach it.
    superuser &&
      DATABASE_URL !== undefined &&
      warn(CHECK, 'Our role is a superuser: give us one that owns our schema and nothing else.'),
  ]
  return [...examineDurability(facts, production), ...wrong.filter((one) => one !== false)]
}

/** Without fsync nothing at all is sure. */
function examineDurability(facts: ServerFacts, production: boolean): Finding[] {
  const say = production && !facts.fsync ? fail : warn
  return lossesOf(facts).map((sentence) => say(CHECK, sentence))
}

/** Tokens carry the time of the server process, and rows that of either. What the question took is not counted. */
function examineTime({ time, answered }: ServerFacts, asked: number): Finding[] {
  const apart = (time - (asked + answered) / 2) / 1000
  const sure = Math.abs(apart) - (answered - asked) / 2000
  if (sure <= 1) return [ok('database clock', 'The clock of the database is ours.')]
  const says = `The clock of the database is ${Math.abs(apart).toFixed(1)} s ${apart < 0 ? 'behind' : 'ahead of'} ours`
  return [(sure <= 10 ? warn : fail)('database clock', `${says}: let NTP keep both.`)]
}

function examineConnections(config: Config, { connections }: ServerFacts): Finding {
  const { DATABASE_POOL_SIZE: size, WORKERS: workers } = config
  const needed = size * workers
  const says = `${workers} × ${size} connections of ${connections} that the database allows us`
  return needed <= connections
    ? ok('connections', `This machine takes up to ${says}.`)
    : fail(
        'connections',
        `This machine would take ${says}: lower DATABASE_POOL_SIZE, or raise max_connections.`,
      )
}

function examineSchema(
  missing: readonly string[],
  later: LaterVersion | null,
  { schema, mayCreate }: ServerFacts,
): Finding {
  if (missing.length === 0)
    return later === null
      ? ok('schema', 'It is the newest.')
      : ok('schema', `It is that of a later version (${later.newest}), beside which this one may run.`)
  if (schema === null)
    return fail('schema', 'The connection has no schema to look in: set DATABASE_SCHEMA, or a search_path.')
  const what = `${missing.length} ${missing.length === 1 ? 'migration is' : 'migrations are'} missing (${missing.join(', ')})`
  return mayCreate
    ? warn('schema', `${what}: \`migrate\` or the next start runs them.`)
    : fail(
        'schema',
        `${what}, and our role may create nothing in ${schema}: grant it, or run \`migrate\` as one that may.`,
      )
}
