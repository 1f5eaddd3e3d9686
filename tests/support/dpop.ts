/** DPoP proofs (RFC 9449 §4.2) as clients make them, and as they must not. */
import { createHash, randomUUID } from 'node:crypto'
import { calculateJwkThumbprint, exportJWK, generateKeyPair, type JWK, SignJWT } from 'jose'

export interface DpopKey {
  readonly algorithm: string
  readonly privateKey: CryptoKey
  readonly jwk: JWK
  readonly thumbprint: string
}

export async function createDpopKey(algorithm = 'ES256'): Promise<DpopKey> {
  const { privateKey, publicKey } = await generateKeyPair(algorithm, { extractable: true })
  const jwk = await exportJWK(publicKey)
  return { algorithm, privateKey, jwk, thumbprint: await calculateJwkThumbprint(jwk) }
}

export interface ProofOptions {
  readonly method: string
  readonly url: string
  /** The access token that it goes with. */
  readonly token?: string | undefined
  readonly nonce?: string | undefined
  /** Members to add or to replace; one that is undefined is left out. */
  readonly header?: Readonly<Record<string, unknown>>
  readonly claims?: Readonly<Record<string, unknown>>
}

export async function prove(key: DpopKey, options: ProofOptions): Promise<string> {
  const { method, url, token, nonce, header, claims } = options
  const ath = token === undefined ? undefined : hashOf(token)
  const iat = Math.floor(Date.now() / 1000)
  const all = { jti: randomUUID(), htm: method, htu: url, iat, ath, nonce, ...claims }
  return new SignJWT(JSON.parse(JSON.stringify(all)) as Record<string, unknown>)
    .setProtectedHeader({ alg: key.algorithm, typ: 'dpop+jwt', jwk: key.jwk, ...header })
    .sign(key.privateKey)
}

/** `ath`. */
function hashOf(token: string): string {
  return createHash('sha256').update(token).digest('base64url')
}
