/**
 * The store of keys that every server has: each is made here, sealed under SECRET_KEY, and stored as what it is found by. Whoever
 * opens it has its private part, and may sign at once.
 */
import { calculateJwkThumbprint, exportJWK, generateKeyPair } from 'jose'
import { createPrivateKey, type KeyObject } from 'node:crypto'
import type { OpenKeyStore } from '../../doors/key-store.ts'
import { ALGORITHMS } from './algorithms.ts'
import type { SecretBox } from './secret-box.ts'
import { signBytes } from './signatures.ts'

/** Its name in KEYS. */
export const DATABASE = 'database'

/** Throws where no SECRET_KEY fits. */
export function openPrivateKey(kid: string, sealed: string, box: SecretBox): KeyObject {
  const key = JSON.parse(box.open(sealed, kid, `the signing key ${kid}`)) as object
  return createPrivateKey({ key, format: 'jwk' })
}

/** A reference is the kid, which the seal holds fast, a dot, and what was sealed. */
export function sealedPartOf(reference: string): string {
  return reference.slice(reference.indexOf('.') + 1)
}

export function createDatabaseKeys(box: SecretBox): OpenKeyStore {
  return {
    algorithms: async () => ALGORITHMS,
    /** An RSA key takes 60 to 200 ms. */
    async generate(algorithm) {
      const { privateKey, publicKey } = await generateKeyPair(algorithm, { extractable: true })
      const publicJwk = await exportJWK(publicKey)
      const kid = await calculateJwkThumbprint(publicJwk)
      return { publicJwk, reference: `${kid}.${box.seal(JSON.stringify(await exportJWK(privateKey)), kid)}` }
    },
    async sign(reference, algorithm, input) {
      const kid = reference.slice(0, reference.indexOf('.'))
      return signBytes(algorithm, openPrivateKey(kid, sealedPartOf(reference), box), input)
    },
    // They go with their rows.
    withdraw: async () => {},
    list: async () => [],
    close: async () => {},
  }
}
