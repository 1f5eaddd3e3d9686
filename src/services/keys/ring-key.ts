/** A signing key in memory, from its sealed row, and what is left of one that was revoked. */
import type { JWK } from 'jose'
import { createPublicKey, type KeyObject } from 'node:crypto'
import type { SigningKeyRow } from '../../store/signing-keys.ts'
import { DATABASE, openPrivateKey } from './database-keys.ts'
import type { SecretBox } from './secret-box.ts'

/** What is known of every key. Instants are milliseconds since the epoch. */
export interface KeyRecord {
  readonly kid: string
  readonly algorithm: string
  readonly predecessor: string
  /** Which store has its private part, as KEYS names it. */
  readonly store: string
  readonly createdAt: number
  readonly signsFrom: number
  /** When it leaves; null for one that has no successor. */
  readonly retiresAt: number | null
  /** Null for one that may be believed. */
  readonly revokedAt: number | null
}

/** One that is published. */
export interface RingKey extends KeyRecord {
  /** Undefined where another store than the database has it. */
  readonly privateKey: KeyObject | undefined
  /** What that store finds it by. */
  readonly reference: string
  readonly publicKey: KeyObject
  readonly publicJwk: JWK
  /** When a later key began to sign, or will: what says that it was issued after that is nobody's. Infinite until then. */
  readonly signsUntil: number
}

/** @internal */
export function toRecord(row: SigningKeyRow): KeyRecord {
  const { kid, algorithm, predecessor, store } = row
  return {
    kid,
    algorithm,
    predecessor,
    store,
    createdAt: row.createdAt.getTime(),
    signsFrom: row.signsFrom.getTime(),
    retiresAt: row.retiresAt?.getTime() ?? null,
    revokedAt: row.revokedAt?.getTime() ?? null,
  }
}

/**
 * `known` is what this row was before, whose key need not be opened again. Throws `UnreadableError` when it cannot be.
 * @internal
 */
export function toRingKey(
  row: SigningKeyRow,
  signsUntil: number,
  box: SecretBox,
  known: RingKey | undefined,
): RingKey {
  const record = toRecord(row)
  if (known !== undefined) {
    const { signsFrom, retiresAt } = record
    return known.signsFrom === signsFrom && known.retiresAt === retiresAt && known.signsUntil === signsUntil
      ? known
      : { ...known, signsFrom, retiresAt, signsUntil }
  }
  const { publicJwk, reference } = row
  const privateKey = record.store === DATABASE ? open(row, box) : undefined
  return {
    ...record,
    privateKey,
    reference,
    publicKey: createPublicKey(privateKey ?? { key: publicJwk, format: 'jwk' }),
    publicJwk,
    signsUntil,
  }
}

function open({ kid, privateJwk }: SigningKeyRow, box: SecretBox): KeyObject {
  return openPrivateKey(kid, privateJwk, box)
}
