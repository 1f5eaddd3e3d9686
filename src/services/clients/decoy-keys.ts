/**
 * Public keys of nobody, one of each type: a signature is checked with one where the client, or its key, is missing, so that
 * a refusal takes the time that it takes for a client that is there.
 */
import { generateKeyPair, type KeyObject } from 'node:crypto'
import { promisify } from 'node:util'

export interface DecoyKeys {
  /** For a JWS algorithm of a public key (`SIGNATURE_ALGORITHMS`). */
  of(algorithm: string): Promise<KeyObject>
}

const generate = promisify(generateKeyPair)
const CURVES: Readonly<Record<string, string>> = { ES256: 'P-256', ES384: 'P-384', ES512: 'P-521' }

/** Each is made when it is first wanted. */
export function createDecoyKeys(): DecoyKeys {
  const made = new Map<string, Promise<KeyObject>>()

  async function make(type: string): Promise<KeyObject> {
    if (type === 'rsa') return (await generate('rsa', { modulusLength: 2048 })).publicKey
    if (type === 'ed25519') return (await generate('ed25519')).publicKey
    return (await generate('ec', { namedCurve: type })).publicKey
  }

  return {
    async of(algorithm) {
      const type = CURVES[algorithm] ?? (/^[RP]S/.test(algorithm) ? 'rsa' : 'ed25519')
      const key = made.get(type) ?? make(type)
      made.set(type, key)
      return key
    },
  }
}
