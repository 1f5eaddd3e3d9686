/** A signing key in memory, from its sealed row. */
import type { JWK } from 'jose'
import { createPrivateKey, createPublicKey, type JsonWebKeyInput, type KeyObject } from 'node:crypto'
import { ConfigError } from '../../config.ts'
import type { SigningKeyRow } from '../../store/signing-keys.ts'
import type { SecretBox } from './secret-box.ts'

export interface RingKey {
  readonly kid: string
  readonly algorithm: string
  readonly privateKey: KeyObject
  readonly publicKey: KeyObject
  readonly publicJwk: JWK
  readonly predecessor: string
  /** Milliseconds since the epoch. */
  readonly createdAt: number
  readonly signsFrom: number
  readonly retiresAt: number | null
}

/**
 * `known` is what this row was before, whose key need not be opened again. Throws `ConfigError` when it cannot be.
 * @internal
 */
export function toRingKey(row: SigningKeyRow, box: SecretBox, known: RingKey | undefined): RingKey {
  const times = { signsFrom: row.signsFrom.getTime(), retiresAt: row.retiresAt?.getTime() ?? null }
  if (known !== undefined) {
    return known.signsFrom === times.signsFrom && known.retiresAt === times.retiresAt
      ? known
      : { ...known, ...times }
  }
  const { kid, algorithm, predecessor } = row
  let jwk: JsonWebKeyInput['key']
  try {
    jwk = JSON.parse(box.open(row.privateJwk, kid)) as JsonWebKeyInput['key']
  } catch (cause) {
    throw new ConfigError(
      `SECRET_KEY: the signing key ${kid} cannot be decrypted with it; put the key it was made with into the list.`,
      { cause },
    )
  }
  const privateKey = createPrivateKey({ key: jwk, format: 'jwk' })
  const publicJwk = row.publicJwk as JWK
  return {
    kid, algorithm, privateKey, publicJwk, predecessor, ...times,
    publicKey: createPublicKey(privateKey),
    createdAt: row.createdAt.getTime(),
  } // prettier-ignore
}
