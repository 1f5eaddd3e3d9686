/** Makes the two parts of a signing key: one to publish, one that is sealed before it is stored. */
import { calculateJwkThumbprint, exportJWK, generateKeyPair } from 'jose'
import type { NewSigningKey } from '../../store/signing-keys.ts'
import type { SecretBox } from './secret-box.ts'

/** Its `kid` is the thumbprint of RFC 7638. An RSA key takes 60 to 200 ms. */
export async function generateSigningKey(
  algorithm: string,
  box: SecretBox,
): Promise<Pick<NewSigningKey, 'kid' | 'algorithm' | 'publicJwk' | 'privateJwk'>> {
  const { privateKey, publicKey } = await generateKeyPair(algorithm, { extractable: true })
  const publicPart = await exportJWK(publicKey)
  const kid = await calculateJwkThumbprint(publicPart)
  return {
    kid,
    algorithm,
    publicJwk: { ...publicPart, kid, use: 'sig', alg: algorithm },
    privateJwk: box.seal(JSON.stringify(await exportJWK(privateKey)), kid),
  }
}
