/** Encrypts to clients, each with a key of its own: jose does the cryptography. */
import { CompactEncrypt } from 'jose'
import type { Client } from '../../doors/client.ts'
import { OAuthError } from '../../protocol/errors.ts'
import type { Encryption } from '../../protocol/encryption.ts'
import type { PublicJwk } from '../../protocol/jwk-set.ts'
import { JwtError } from '../../protocol/signed-jwt.ts'
import type { ClientKeys } from './client-keys.ts'

/** Members of the header beside `alg`, `enc` and `kid`. `cty` is `JWT` where a signed one is inside (RFC 7519 §5.2). */
export interface EncryptOptions extends Encryption {
  readonly cty?: string
  readonly typ?: string
}

export interface ClientEncryption {
  /**
   * The compact JWE of `text` for this client. Throws `OAuthError`: `invalid_request` where it has no key for it, and
   * `temporarily_unavailable` where its keys cannot be read now.
   */
  encryptTo(client: Client, text: string, options: EncryptOptions): Promise<string>
  /** Throws as `encryptTo` would: before anything is spent for what could then not be told. */
  assertReachable(client: Client, encryption: Encryption): Promise<void>
}

/** @internal */
export function createClientEncryption(keys: ClientKeys): ClientEncryption {
  async function keyOf(client: Client, algorithm: string): Promise<PublicJwk> {
    const key = await keys.findForEncryption(client, algorithm).catch((error: unknown) => {
      if (!(error instanceof JwtError)) throw error
      throw new OAuthError('temporarily_unavailable', 'the keys of the client cannot be read now', {
        cause: error,
      })
    })
    if (key === null) throw new OAuthError('invalid_request', `the client has no key for ${algorithm}`)
    return key
  }

  return {
    async encryptTo(client, text, { alg, ...header }) {
      const { kid, key } = await keyOf(client, alg)
      const protectedHeader = { alg, ...header, ...(kid === undefined ? {} : { kid }) }
      return new CompactEncrypt(Buffer.from(text)).setProtectedHeader(protectedHeader).encrypt(key)
    },
    async assertReachable(client, { alg }) {
      await keyOf(client, alg)
    },
  }
}
