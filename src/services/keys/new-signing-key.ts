/** Makes the two parts of a signing key: one to publish, one that is sealed before it is stored. */
import { calculateJwkThumbprint, exportJWK, generateKeyPair } from 'jose'
import type { NewSigningKey } from '../../store/signing-keys.ts'
import type { SecretBox } from './secret-box.ts'

/** Its `kid` is the thumbprint of RFC 7638. An RSA key takes 60 to 200 ms. */
export async function generateSigningKey(
  algorithm: string,
  box: SecretBox,
): Promise<Pick<NewSigningKey, 'kid' | 'algorithm' | 'publicJwk' | 'privateJwk'>> {
  const { privateKey } = await generateKeyPair(algorithm, { extractable: true })
  const jwk = await exportJWK(privateKey)
  const { d: _d, p: _p, q: _q, dp: _dp, dq: _dq, qi: _qi, ...publicPart } = jwk
  const kid = await calculateJwkThumbprint(publicPart)
  return {
    kid,
    algorithm,
    publicJwk: { ...publicPart, kid, use: 'sig', alg: algorithm },
    privateJwk: box.seal(JSON.stringify(jwk), kid),
  }
}
