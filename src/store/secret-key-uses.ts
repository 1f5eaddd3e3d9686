/** Which SECRET_KEY what is stored was made with: each value begins with the id of its key, and a dot. */
import { ClientSecret } from '../entities/client.ts'
import { OutboxEntry } from '../entities/outbox-entry.ts'
import { PluginRecord } from '../entities/plugin-record.ts'
import { ServerSecret } from '../entities/server-secret.ts'
import { SigningKey } from '../entities/signing-key.ts'
import { Upstream } from '../entities/upstream.ts'
import { UserRecord } from '../entities/user-record.ts'
import { statement } from './statement.ts'

export interface SecretKeyUse {
  /** The id of the key. */
  readonly key: string
  readonly what:
    | 'signing keys'
    | 'server secrets'
    | 'client secrets'
    | 'deliveries'
    | 'records of users'
    | 'records of plugins'
    | 'secrets of upstreams'
  readonly count: number
  /** `NAMED` at most of the clients whose secrets they are, in the order of their ids; null for what is nobody's to mend by name. */
  readonly clients: readonly string[] | null
}

/** One more than are shown, to tell that there are others. */
export const NAMED = 6

export const statements = {
  /** All that is alive. Secrets hashed by argon2id depend on no key, and begin with a dollar sign. */
  all: statement<SecretKeyUse>('secret-key-uses', (table) => {
    const [signing, server, client] = [table(SigningKey), table(ServerSecret), table(ClientSecret)]
    const entry = table(OutboxEntry)
    const part = (what: SecretKeyUse['what'], value: string, from: string, clients = 'null::text[]') =>
      `select split_part(${value}, '.', 1) as "key", '${what}' as "what", count(*)::int as "count", ${clients} as "clients"
        from ${from} group by 1`
    const named = `(array_agg(distinct ${client.column('client')} order by ${client.column('client')}))[1:${NAMED}]`
    const upstream = table(Upstream)
    const record = table(UserRecord)
    const own = table(PluginRecord)
    const sealed = `${record.column('value')}->>'sealed'`
    const ownValue = own.column('value')
    const [retires, expires, hash, sealedSecret] = [
      signing.column('retiresAt'),
      client.column('expiresAt'),
      client.column('hash'),
      client.column('sealed'),
    ]
    return `${part('signing keys', signing.column('privateJwk'), `${signing.name} where ${signing.column('store')} = 'database' and (${retires} is null or ${retires} > now())`)}
      union all ${part('server secrets', server.column('sealed'), server.name)}
      union all ${part('deliveries', entry.column('payload'), entry.name)}
      union all ${part('secrets of upstreams', upstream.column('clientSecret'), `${upstream.name} where ${upstream.column('clientSecret')} is not null`)}
      union all ${part('client secrets', `coalesce(${sealedSecret}, ${hash})`, `${client.name} where (${sealedSecret} is not null or ${hash} not like '$%') and (${expires} is null or ${expires} > now())`, named)}
      union all ${part('records of plugins', `${ownValue} #>> '{}'`, `${own.name} where jsonb_typeof(${ownValue}) = 'string'`)}
      union all ${part('records of users', sealed, `${record.name} where ${sealed} is not null`)}`
  }),
}
