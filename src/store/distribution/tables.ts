/**
 * What is distributed: the tables that grow with each sign-in, by the id of the Authorization that every row of them belongs to. All
 * else stays on the one server that the processes are connected to, which is small or rarely changed (docs/adr/0055).
 */
import type { EntityClass } from '@mikro-orm/core'
import { AccessToken } from '../../entities/access-token.ts'
import { AuthorizationCode } from '../../entities/authorization-code.ts'
import { Authorization } from '../../entities/authorization.ts'
import { RefreshToken } from '../../entities/refresh-token.ts'
import { tableOf } from '../statement.ts'

export interface DistributedTable {
  /** Quoted and qualified, as statements name it. */
  readonly name: string
  /** Without its schema and quotes. */
  readonly bare: string
  /** Quoted. */
  readonly key: string
}

/** In `schema`, or in that which connections look in. */
export function distributedTables(schema?: string): readonly DistributedTable[] {
  const table = tableOf(schema)
  const one = <E>(entity: EntityClass<E>, bare: string, key: keyof E & string): DistributedTable => {
    const { name, column } = table(entity)
    return { name, bare, key: column(key) }
  }
  return [
    one(Authorization, 'authorizations', 'id'),
    one(AuthorizationCode, 'authorization_codes', 'authorizationId'),
    one(RefreshToken, 'refresh_tokens', 'authorizationId'),
    one(AccessToken, 'access_tokens', 'authorizationId'),
  ]
}
