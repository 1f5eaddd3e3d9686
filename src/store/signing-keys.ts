/** Signing keys at rest. That a key has one successor is the database's unique constraint, not our care. */
import { SigningKey } from '../entities/signing-key.ts'
import type { Query } from './database.ts'
import { recordChange } from './changes.ts'
import { statement } from './statement.ts'

export type SigningKeyRow = Pick<
  SigningKey,
  'kid' | 'algorithm' | 'predecessor' | 'publicJwk' | 'privateJwk' | 'createdAt' | 'signsFrom' | 'retiresAt'
>

export const statements = {
  all: statement<SigningKeyRow>('signing-keys', (table) => {
    const key = table(SigningKey)
    return `select ${key.columns(
      'kid',
      'algorithm',
      'predecessor',
      'publicJwk',
      'privateJwk',
      'createdAt',
      'signsFrom',
      'retiresAt',
    )} from ${key.name} where ${key.column('retiresAt')} is null or ${key.column('retiresAt')} > now()
      order by ${key.column('signsFrom')}`
  }),
  insert: statement('signing-key-insert', (table) => {
    const key = table(SigningKey)
    const columns = (
      ['kid', 'algorithm', 'predecessor', 'publicJwk', 'privateJwk', 'signsFrom'] as const
    ).map((one) => key.column(one))
    return `insert into ${key.name} (${columns.join(', ')}) values ($1, $2, $3, $4, $5, $6)`
  }),
  succeed: statement('signing-key-succeed', (table) => {
    const key = table(SigningKey)
    return `update ${key.name} set ${key.column('retiresAt')} = $2 where ${key.column('kid')} = $1`
  }),
  reseal: statement('signing-key-reseal', (table) => {
    const key = table(SigningKey)
    return `update ${key.name} set ${key.column('privateJwk')} = $3
      where ${key.column('kid')} = $1 and ${key.column('privateJwk')} = $2`
  }),
  prune: statement('signing-keys-prune', (table) => {
    const key = table(SigningKey)
    return `delete from ${key.name} where ${key.column('retiresAt')} < now() - interval '1 day'`
  }),
}

export interface NewSigningKey {
  kid: string
  algorithm: string
  predecessor: string
  publicJwk: object
  privateJwk: string
  signsFrom: Date
}

/** Stores a key and, with it, the end of the one it replaces; a duplicate where another process was first. */
export async function insertSigningKey(
  query: Query,
  key: NewSigningKey,
  predecessorRetiresAt?: Date,
): Promise<void> {
  const { kid, algorithm, predecessor, publicJwk, privateJwk, signsFrom } = key
  await query(statements.insert, [kid, algorithm, predecessor, publicJwk, privateJwk, signsFrom])
  if (predecessorRetiresAt !== undefined) await query(statements.succeed, [predecessor, predecessorRetiresAt])
  await recordChange(query, 'signing_key', kid)
}
