/** Authorization codes: each is read once to be judged, and removed by the statement that stores what it gives. */
import { Authorization } from '../entities/authorization.ts'
import { AuthorizationCode } from '../entities/authorization-code.ts'
import { RefreshToken } from '../entities/refresh-token.ts'
import { Session } from '../entities/session.ts'
import { spending } from './artifacts.ts'
import { AUTHORIZATION, insertAuthorization } from './authorization-row.ts'
import { isConsented } from './consents.ts'
import { parameters, type Places } from './parameters.ts'
import { placedFunction } from './placed-function.ts'
import { statement, undivided, type TableOf } from './statement.ts'
import { insertAccessToken, OPAQUE } from './tokens.ts'

export type AuthorizationCodeRow = Pick<
  AuthorizationCode,
  'clientId' | 'subject' | 'redirectUri' | 'codeChallenge' | 'granted' | 'proof' | 'createdAt' | 'spentAt'
>

const CODE = {
  authorizationId: 'uuid',
  hash: 'text',
  clientId: 'text',
  subject: 'text',
  redirectUri: 'text',
  codeChallenge: 'text',
  granted: 'jsonb',
  proof: 'text',
} as const satisfies Partial<Record<keyof AuthorizationCode, string>>

const STORING = { ...CODE, lifetime: 'float8', sid: 'uuid', consent: 'uuid' } as const

/** A code with what it gives: the refresh token is null where there is none; lifetimes in seconds. */
const EXCHANGE = { ...AUTHORIZATION, code: 'text', refreshToken: 'text', refreshLifetime: 'float8' } as const

export const statements = {
  /**
   * Of the session `sid` while it lasts, and of the `consent` unless that is null: who ends one of them, and then its codes,
   * finds this one or makes it impossible. `lifetime` in seconds.
   */
  insert: parameters(STORING).statement<{ hash: string }>(
    'authorization-code-insert',
    (table, at) => insertCode(table, at, whileAllowed(table, at)),
    'with writers',
  ),
  /** The same, which spends the artifact that the request came in; where either is not as it must be, neither is done. */
  insertSpending: undivided(
    parameters({ ...STORING, kind: 'text', hashes: 'text[]' }).statement<{ hash: string }>(
      'authorization-code-insert-spending',
      (table, at) => `with alive as (
        select true ${whileAllowed(table, at)}
      ), spent as (
        ${spending(table, at, 'exists (select from alive)')}
      )
      ${insertCode(table, at, 'where exists (select from spent)')}`,
      'with writers',
    ),
  ),
  find: statement<AuthorizationCodeRow>(
    'authorization-code-find',
    (table) => {
      const code = table(AuthorizationCode)
      return `select ${code.columns('clientId', 'subject', 'redirectUri', 'codeChallenge', 'granted', 'proof', 'createdAt', 'spentAt')}
      from ${code.name} where ${code.column('authorizationId')} = $1 and ${code.column('hash')} = $2`
    },
    'with readers',
  ),
  exchange: parameters(EXCHANGE).statement<Exchanged>(
    'authorization-code-exchange',
    exchange,
    'with writers',
    (table, at) => EXCHANGING.call(table, at),
  ),
  /** And stores an opaque access token. */
  exchangeForOpaque: parameters({ ...EXCHANGE, ...OPAQUE }).statement<Exchanged>(
    'authorization-code-exchange-opaque',
    (table, at) => exchange(table, at, `, more as (${insertAccessToken(table, at, 'from spent')})`),
    'with writers',
    (table, at) => EXCHANGING.call(table, at),
  ),
}

/** From where a code is inserted: the session, and the consent that it needs, kept as they are until it is. */
function whileAllowed(table: TableOf, at: Places<keyof typeof STORING>): string {
  const session = table(Session)
  return `from ${session.name} where ${session.column('sid')} = ${at.sid}
        and (${at.consent} is null or ${isConsented(table, at.consent, `${at.subject}::uuid`, at.clientId)}) for share`
}

function insertCode(table: TableOf, at: Places<keyof typeof STORING>, from: string): string {
  const code = table(AuthorizationCode)
  const stored = Object.keys(CODE) as (keyof typeof CODE)[]
  const columns = [...stored, 'expiresAt' as const].map((one) => code.column(one))
  return `insert into ${code.name} (${columns.join(', ')})
      select ${stored.map((one) => at[one]).join(', ')}, now() + make_interval(secs => ${at.lifetime})
      ${from}
      returning ${code.column('hash')} as "hash"`
}

interface Exchanged {
  readonly authorizationId: string
}

/** The same where Citus distributes the database: one trip to one server, and one commit there. */
export const EXCHANGING = placedFunction({
  name: 'latchkey_exchange',
  types: { ...EXCHANGE, ...OPAQUE },
  returns: { authorizationId: 'uuid' },
  declares: { proof: 'text' },
  body: (table, at, own) => `${spend(table, at)} into ${own.proof};
    if not found then return; end if;
    ${insertAuthorization(table, at, '', { codeProof: own.proof })};
    if ${at.refreshToken} is not null then ${insertRefresh(table, at)}; end if;
    if ${at.opaqueHash} is not null then ${insertAccessToken(table, at)}; end if;
    return query select ${at.id};`,
})

/** The `case` keeps the index of those that are unspent out of it (`isAhead`); Citus takes no `now()` in one. */
function spend(table: TableOf, at: Places<'id' | 'code'>): string {
  const code = table(AuthorizationCode)
  return `delete from ${code.name}
        where ${code.column('authorizationId')} = ${at.id} and ${code.column('hash')} = ${at.code}
          and case when ${code.column('spentAt')} is null then true else false end and ${code.column('expiresAt')} > now()
        returning ${code.column('proof')}`
}

function insertRefresh(
  table: TableOf,
  at: Places<'id' | 'refreshToken' | 'refreshLifetime'>,
  from = '',
): string {
  const refresh = table(RefreshToken)
  const columns = (['authorizationId', 'hash', 'expiresAt'] as const).map((one) => refresh.column(one))
  const values = `${at.id}, ${at.refreshToken}, now() + make_interval(secs => ${at.refreshLifetime})`
  return `insert into ${refresh.name} (${columns.join(', ')})
        ${from === '' ? `values (${values})` : `select ${values} ${from}`}`
}

/** Spends the code, which is then gone, and makes its Authorization, with a refresh token unless that is null. */
function exchange(table: TableOf, at: Places<keyof typeof EXCHANGE>, more = ''): string {
  return `with spent as (
        ${spend(table, at)} as proof
      ), refreshing as (
        ${insertRefresh(table, at, `from spent where ${at.refreshToken} is not null`)}
      )${more}
      ${insertAuthorization(table, at, 'from spent', { codeProof: 'proof' })}
      returning ${table(Authorization).column('id')} as "authorizationId"`
}
