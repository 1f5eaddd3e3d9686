/** What follows from something that an app has shown, under a secret of ours: whoever shows it again is told the same. */
import { createHmac, type KeyObject } from 'node:crypto'
import type { FindServerSecret } from '../keys/server-secrets.ts'

/** The server's secret for it. */
export const REGISTRATION_TOKENS = 'registration-tokens'

export type KeyedHash = (algorithm: 'sha256' | 'sha512', text: string) => Promise<Buffer>

/** @internal */
export function createKeyedHash(secret: FindServerSecret): KeyedHash {
  let key: Promise<KeyObject> | undefined
  return async (algorithm, text) => {
    key ??= secret(REGISTRATION_TOKENS)
    key.catch(() => (key = undefined))
    return createHmac(algorithm, await key)
      .update(text)
      .digest()
  }
}
