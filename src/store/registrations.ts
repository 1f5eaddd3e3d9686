/** Registrations, initial access tokens and what is due of them: each is spent, changed or taken by one guarded statement. */
import { AuditEvent } from '../entities/audit-event.ts'
import { Authorization } from '../entities/authorization.ts'
import { Client } from '../entities/client.ts'
import { RefreshToken } from '../entities/refresh-token.ts'
import { InitialToken, Registration } from '../entities/registration.ts'
import { isAhead, statement } from './statement.ts'

export type RegistrationRow = Pick<Registration, 'hash' | 'formerHash' | 'allowance'>
export type InitialTokenRow = Pick<
  InitialToken,
  'name' | 'hash' | 'usesLeft' | 'expiresAt' | 'allowance' | 'createdAt'
>

const TOKEN = ['name', 'hash', 'usesLeft', 'expiresAt', 'allowance', 'createdAt'] as const

export const statements = {
  find: statement<RegistrationRow>('registration-find', (table) => {
    const registration = table(Registration)
    return `select ${registration.columns('hash', 'formerHash', 'allowance')} from ${registration.name}
      where ${registration.column('client')} = $1`
  }),
  /** The token $2 is used: from now on $3 is the new one, unless somebody else was here with the same. */
  advance: statement('registration-advance', (table) => {
    const registration = table(Registration)
    const [hash, former] = [registration.column('hash'), registration.column('formerHash')]
    return `update ${registration.name} set ${former} = ${hash}, ${hash} = $3
      where ${registration.column('client')} = $1 and ${hash} = $2`
  }),
  /**
   * At most $3 of the door $1 of which nobody has heard for $2 seconds, and when a token was issued to each meanwhile, as the
   * audit log has it from the id $4 on.
   */
  unheard: statement<{ clientId: string; usedAt: Date | null }>('registrations-unheard', (table) => {
    const [registration, client, event] = [table(Registration), table(Client), table(AuditEvent)]
    const id = `r.${registration.column('client')}`
    return `select ${id} as "clientId", (select e.${event.column('at')} from ${event.name} e
        where e.${event.column('client')} = ${id} and e.${event.column('id')} >= $4::uuid
          and e.${event.column('type')} = 'token.issued'
        order by e.${event.column('id')} desc limit 1) as "usedAt"
      from ${registration.name} r join ${client.name} c on c.${client.column('clientId')} = ${id}
      where c.${client.column('registrar')} = $1
        and r.${registration.column('usedAt')} < now() - make_interval(secs => $2)
      order by r.${registration.column('usedAt')} limit $3`
  }),
  /** Whether a refresh token of the client $1 is good. */
  holdsTokens: statement<{ holds: true }>('registration-holds-tokens', (table) => {
    const [authorization, refresh] = [table(Authorization), table(RefreshToken)]
    return `select true as "holds" from ${authorization.name} a join ${refresh.name} t
        on t.${refresh.column('authorizationId')} = a.${authorization.column('id')}
      where a.${authorization.column('clientId')} = $1 and a.${authorization.column('revokedAt')} is null
        and ${isAhead(`t.${refresh.column('expiresAt')}`)} limit 1`
  }),
  heard: statement('registration-heard', (table) => {
    const registration = table(Registration)
    return `update ${registration.name} set ${registration.column('usedAt')} = $2
      where ${registration.column('client')} = $1`
  }),
  createToken: statement<{ created: true }>('initial-token-create', (table) => {
    const token = table(InitialToken)
    const columns = (['name', 'hash', 'usesLeft', 'expiresAt', 'allowance'] as const).map(token.column)
    return `insert into ${token.name} (${columns.join(', ')})
      values ($1, $2, $3, now() + make_interval(secs => $4), $5::jsonb)
      on conflict (${columns[0]}) do nothing returning true as "created"`
  }),
  /** Behind the name $1, at most $2. */
  listTokens: statement<InitialTokenRow>('initial-tokens-list', (table) => {
    const token = table(InitialToken)
    const name = token.column('name')
    return `select ${token.columns(...TOKEN)} from ${token.name} where ${name} > $1 order by ${name} limit $2`
  }),
  /** One that is good now. */
  findToken: statement<InitialTokenRow>('initial-token-find', (table) => {
    const token = table(InitialToken)
    return `select ${token.columns(...TOKEN)} from ${token.name} where ${token.column('hash')} = $1
      and ${token.column('usesLeft')} > 0 and ${isAhead(token.column('expiresAt'))}`
  }),
  deleteToken: statement<{ deleted: true }>('initial-token-delete', (table) => {
    const token = table(InitialToken)
    return `delete from ${token.name} where ${token.column('name')} = $1 returning true as "deleted"`
  }),
}
