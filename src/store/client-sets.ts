/** Clients many at a time, for SEED_FILE: one statement whatever their number. */
import { Client, ClientSecret } from '../entities/client.ts'
import type { ClientRow } from './clients.ts'
import { insertGiven, updateGiven } from './given-rows.ts'
import { statement } from './statement.ts'

export type ClientSetRow = Omit<ClientRow, 'scopeClients' | 'registrar' | 'revision'>

const COLUMNS = {
  clientId: 'text',
  clientName: 'text',
  redirectUris: 'text[]',
  responseTypes: 'text[]',
  grantTypes: 'text[]',
  tokenEndpointAuthMethod: 'text',
  scope: 'text[]',
  metadata: 'jsonb',
} as const

export const statements = {
  /** Holds those of $1, for a change; each process in the same order. */
  hold: statement('clients-hold', (table) => {
    const client = table(Client)
    const id = client.column('clientId')
    return `select from ${client.name} where ${id} = any($1) order by ${id} for update`
  }),
  /**
   * Those of $1 that are held, with their secrets. One statement could not do both: after a wait it would read the clients
   * as they are, and their secrets as they were.
   */
  held: statement<ClientSetRow>('clients-held', (table) => {
    const [client, secret] = [table(Client), table(ClientSecret)]
    const id = client.column('clientId')
    const names = Object.keys(COLUMNS) as (keyof typeof COLUMNS)[]
    const expiresAt = `(extract(epoch from s.${secret.column('expiresAt')}) * 1000)::float8`
    return `select ${client.columns(...names, 'createdAt')},
      coalesce((select json_agg(json_build_object('id', s.${secret.column('id')}, 'hash', s.${secret.column('hash')},
          'sealed', s.${secret.column('sealed')}, 'expiresAt', ${expiresAt}) order by s.${secret.column('createdAt')} desc, s.${secret.column('id')})
        from ${secret.name} s where s.${secret.column('client')} = c.${id}), '[]') as "secrets"
      from ${client.name} c where ${id} = any($1)`
  }),
  /** Which of $1 are there. */
  present: statement<{ key: string }>('clients-present', (table) => {
    const client = table(Client)
    const id = client.column('clientId')
    return `select ${id} as "key" from ${client.name} where ${id} = any($1)`
  }),
  insert: statement('clients-insert', (table) => insertGiven(table(Client), COLUMNS)),
  update: statement('clients-update', (table) => {
    const client = table(Client)
    const also = `, ${client.column('updatedAt')} = now(), ${client.column('revision')} = default`
    return updateGiven(client, COLUMNS, ['clientId'], also)
  }),
  /** Ends those secrets of the clients $1 that the method $2 could not use: it alone reads what is sealed, and nothing else. */
  removeUnfitSecrets: statement('client-secrets-remove-unfit', (table) => {
    const [client, secret] = [table(Client), table(ClientSecret)]
    const [id, method] = [client.column('clientId'), client.column('tokenEndpointAuthMethod')]
    return `delete from ${secret.name} s using ${client.name} c
      where c.${id} = any($1) and s.${secret.column('client')} = c.${id}
        and (s.${secret.column('sealed')} is not null) <> coalesce(c.${method} = $2, false)`
  }),
  /** Ends the secrets of the clients $1. */
  removeSecrets: statement('client-secrets-remove', (table) => {
    const secret = table(ClientSecret)
    return `delete from ${secret.name} where ${secret.column('client')} = any($1)`
  }),
  /** Lets the secret that each of the clients $1 uses work $2 seconds more, and ends those before it. */
  outlastSecrets: statement('client-secrets-outlast', (table) => {
    const secret = table(ClientSecret)
    const [client, expiresAt] = [secret.column('client'), secret.column('expiresAt')]
    return `with gone as (delete from ${secret.name} where ${client} = any($1) and ${expiresAt} is not null)
      update ${secret.name} set ${expiresAt} = now() + make_interval(secs => $2)
      where ${client} = any($1) and ${expiresAt} is null`
  }),
  insertSecrets: statement('client-secrets-insert', (table) =>
    insertGiven(table(ClientSecret), { id: 'uuid', client: 'text', hash: 'text', sealed: 'text' }),
  ),
}
