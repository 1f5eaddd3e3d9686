/** How many rows each list of users, and of what they hold, reads, however many there are. */
import { createHash } from 'node:crypto'
import { Client } from 'pg'
import { expect, test } from 'vitest'
import { statements as authorizations } from '../../src/store/authorizations.ts'
import { statements as consents } from '../../src/store/consents.ts'
import { statements as sessions } from '../../src/store/sessions.ts'
import { tableOf, type Statement } from '../../src/store/statement.ts'
import { NIL } from '../../src/protocol/uuid.ts'
import { statements as passwordLinks } from '../../src/store/password-links.ts'
import { statements as roles } from '../../src/store/user-roles.ts'
import { statements as users } from '../../src/store/users.ts'
import { atEndOfFile } from '../support/cleanup.ts'
import { createDatabase } from '../support/database.ts'

interface Plan {
  'Relation Name'?: string
  'Actual Rows': number
  'Actual Loops': number
  'Rows Removed by Filter'?: number
  Plans?: Plan[]
}

const MANY = 30_000
/** One of the many who have the same name. */
const SAME = '00000000-0000-0000-0000-000000020000'
const ID = '00000000-0000-0000-0000-000000000001'
const database = await createDatabase()
const table = tableOf()
const client = new Client({ connectionString: database.url })
atEndOfFile(async () => client.end())
await client.connect()
// One user holds as much as all others together.
await client.query(`
  insert into users (id, username, username_key, roles, claims)
    select ('00000000-0000-0000-0000-' || lpad(n::text, 12, '0'))::uuid, 'user-' || n, 'user-' || n,
      case when n % 10000 = 1 then '{staff,admin}'::text[] else '{staff}' end,
      jsonb_build_object('name', case when n % 2 = 0 then 'Staff' else 'Name ' || n end, 'email', 'mail-' || n || '@mail.example')
    from generate_series(1, ${MANY}) n;
  insert into clients (client_id) select 'client-' || n from generate_series(1, 100) n;
  insert into sessions (hash, sid, user_id, authenticated_at, amr, expires_at, ends_at, created_at)
    select n::text, gen_random_uuid(), ('00000000-0000-0000-0000-' || lpad((case when n % 2 = 0 then 1 else n end)::text, 12, '0'))::uuid,
      now(), '{pwd}', now() + interval '1 day', now() + interval '1 day', now() - n * interval '1 second'
    from generate_series(1, ${MANY}) n;
  insert into authorizations (id, client_id, subject, scopes, resources, parameters, created_at)
    select md5(n::text)::uuid, 'client-' || n % 100 + 1,
      '00000000-0000-0000-0000-' || lpad((case when n % 2 = 0 then 1 else n end)::text, 12, '0'), '{openid}', '{}', '{}',
      now() - n * interval '1 second'
    from generate_series(1, ${MANY}) n;
  insert into refresh_tokens (authorization_id, hash, expires_at)
    select md5(n::text)::uuid, n::text, now() + interval '1 day'
    from generate_series(1, ${MANY}) n;
  analyze users; analyze sessions; analyze authorizations; analyze refresh_tokens; analyze clients;
`)
// The plan that a server's prepared statement ends with, for whatever is asked.
await client.query('set plan_cache_mode = force_generic_plan')
let prepared = 0

/** Rows of tables that were looked at. */
function rowsRead(plan: Plan): number {
  const own = (plan['Actual Rows'] + (plan['Rows Removed by Filter'] ?? 0)) * plan['Actual Loops']
  const below = (plan.Plans ?? []).reduce((sum, one) => sum + rowsRead(one), 0)
  return below + (plan['Relation Name'] === undefined ? 0 : own)
}

async function explain(statement: Statement<unknown>, values: readonly (string | number)[]) {
  const name = `listed_${++prepared}`
  await client.query(`prepare ${name} as ${statement.build(table)}`)
  const literals = values.map((one) => (typeof one === 'number' ? one : client.escapeLiteral(one)))
  const call = `execute ${name}${values.length === 0 ? '' : ` (${literals.join(', ')})`}`
  const { rows } = await client.query<{ 'QUERY PLAN': { Plan: Plan }[] }>(
    `explain (analyze, format json) ${call}`,
  )
  const { rowCount } = await client.query(call)
  return { found: rowCount, read: rowsRead(rows[0]!['QUERY PLAN'][0]!.Plan) }
}

const someClients = `{${Array.from({ length: 50 }, (_, at) => `client-${at + 1}`).join(',')}}`

test.each<[what: string, Statement<unknown>, values: (string | number)[], found: number, mostRead: number]>([
  ['users from the first', users.list, ['', 51], 51, 51],
  ['users from the middle', users.list, ['user-2', 51], 51, 51],
  ['a search that finds many', users.search, ['user-', 51, 'user-', '', NIL], 51, 51 * 3],
  ['a search by email', users.search, ['MAIL-2999', 51, 'mail-2999', '', NIL], 11, 51 * 3],
  ['a search from the middle', users.search, ['m', 51, 'm', 'mail-2', NIL], 51, 51 * 3],
  ['a search among many of one name', users.search, ['staff', 51, 'staff', 'staff', SAME], 51, 51 * 3],
  ['a search that finds nobody', users.search, ['nobody', 51, 'nobody', '', NIL], 0, 0],
  ['whether there is an administrator', roles.hasRole, ['admin'], 1, 10],
  ['the administrators', roles.lockRole, ['admin'], 3, 10],
  ['somebody by a link', passwordLinks.owner, ['no link'], 0, 0],
  ['sessions of who has many', sessions.listByUser, [ID], 500, 500],
  ['sessions of who has one', sessions.listByUser, ['00000000-0000-0000-0000-000000000003'], 1, 1],
  ['authorizations of who has many', authorizations.listByUser, [ID, NIL, 51], 51, 51 * 2],
  ['authorizations from the middle', authorizations.listByUser, [ID, md5Of(15_000), 51], 51, 51 * 2 + 1],
  ['authorizations of a client', authorizations.listByClient, ['client-1', NIL, 51], 51, 51 * 2],
  [
    'of a client from the middle',
    authorizations.listByClient,
    ['client-1', md5Of(15_000), 51],
    51,
    51 * 2 + 1,
  ],
  ['authorizations for fifty clients', authorizations.listByClients, [ID, someClients], 2501, 50 * 100 * 2],
  ['connected clients of who has many', consents.connected, [ID, '', 20], 20, 20 * 4],
  [
    'connected clients of who has one',
    consents.connected,
    ['00000000-0000-0000-0000-000000000003', '', 20],
    1,
    10,
  ],
])('%s', async (_what, statement, values, found, mostRead) => {
  const result = await explain(statement, values)
  expect(result.found).toBe(found)
  expect(result.read).toBeLessThanOrEqual(mostRead)
})

function md5Of(n: number): string {
  return createHash('md5')
    .update(String(n))
    .digest('hex')
    .replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5')
}
