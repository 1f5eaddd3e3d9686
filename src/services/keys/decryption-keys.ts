/**
 * Keys to which others encrypt what they send us (RFC 7516). None is stored: each follows from a secret and the time, the same in
 * every process that has the secret, and is followed by another one by itself.
 */
import { createECDH, createHash, createPrivateKey, hkdfSync, type KeyObject } from 'node:crypto'
import { compactDecrypt, decodeProtectedHeader, errors, type JWK } from 'jose'
import { JwtError } from '../../protocol/signed-jwt.ts'

export interface DecryptionKeys {
  /** The public key of now, with `use` `enc`. */
  publicJwk(): JWK
  /** The text that was encrypted to the key of now, or to one before or after it. Throws `JwtError`. */
  decrypt(jwe: string): Promise<string>
}

interface DecryptionKey {
  readonly key: KeyObject
  readonly publicJwk: JWK & { readonly kid: string }
}

/** Ephemeral keys of ECDH alone: what was encrypted to a key is read by nobody who gets to know another. */
export const KEY_MANAGEMENT = ['ECDH-ES', 'ECDH-ES+A128KW', 'ECDH-ES+A256KW']
export const CONTENT_ENCRYPTION = ['A128GCM', 'A256GCM', 'A128CBC-HS256', 'A256CBC-HS512']

/** Milliseconds after which a key is followed by another; it is good for as long again. */
const TURN = 90 * 86_400_000
/** Characters: a signed JWT of the longest, encrypted. */
const LONGEST = 24_576
/** The order of P-256 (FIPS 186-5). */
const ORDER = 0xffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551n

/** `now`: milliseconds since the epoch. */
export function createDecryptionKeys(secret: KeyObject, now: () => number = Date.now): DecryptionKeys {
  let made: { turn: number; keys: readonly DecryptionKey[] } | undefined

  function ofNow(): readonly [DecryptionKey, DecryptionKey, DecryptionKey] {
    const turn = Math.floor(now() / TURN)
    // The next one may have been given out by a process whose clock is ahead.
    if (made?.turn !== turn)
      made = { turn, keys: [turn, turn - 1, turn + 1].map((one) => derive(secret, one)) }
    return made.keys as readonly [DecryptionKey, DecryptionKey, DecryptionKey]
  }

  return {
    publicJwk: () => ofNow()[0].publicJwk,
    async decrypt(jwe) {
      if (jwe.length > LONGEST) throw new JwtError('it is too long')
      try {
        const { kid } = decodeProtectedHeader(jwe)
        const found = ofNow().find(({ publicJwk }) => publicJwk.kid === (kid ?? ofNow()[0].publicJwk.kid))
        if (found === undefined) throw new JwtError('it is encrypted to another key')
        const options = { keyManagementAlgorithms: KEY_MANAGEMENT, contentEncryptionAlgorithms: CONTENT_ENCRYPTION }
        const { plaintext } = await compactDecrypt(jwe, found.key, options)
        return Buffer.from(plaintext).toString('latin1')
      } catch (cause) {
        if (cause instanceof JwtError) throw cause
        if (!(cause instanceof errors.JOSEError) && !(cause instanceof TypeError)) throw cause
        throw new JwtError('it cannot be decrypted', { cause })
      }
    },
  } // prettier-ignore
}

/** 48 bytes, so that no private key is likelier than another (FIPS 186-5 §A.2.1). */
function derive(secret: KeyObject, turn: number): DecryptionKey {
  const bytes = Buffer.from(hkdfSync('sha256', secret, '', `decryption key ${turn}`, 48))
  const scalar = (BigInt(`0x${bytes.toString('hex')}`) % (ORDER - 1n)) + 1n
  const privateBytes = Buffer.from(scalar.toString(16).padStart(64, '0'), 'hex')
  const ecdh = createECDH('prime256v1')
  ecdh.setPrivateKey(privateBytes)
  const point = ecdh.getPublicKey()
  const [x, y, d] = [point.subarray(1, 33), point.subarray(33), privateBytes].map((one) => one.toString('base64url'))
  const jwk = { crv: 'P-256', kty: 'EC', x: x!, y: y! }
  // RFC 7638.
  const kid = createHash('sha256').update(JSON.stringify(jwk)).digest('base64url')
  return { key: createPrivateKey({ key: { ...jwk, d: d! }, format: 'jwk' }), publicJwk: { ...jwk, kid, use: 'enc' } }
} // prettier-ignore
