// Remembers whose signature was good, so that a token that comes with every request is checked once. Only that is
// remembered, under the token's hash: expiry, audience, and whether the key still counts are asked each time.
import { hash } from 'node:crypto'
import type { UnverifiedToken } from './jwt.ts'
import type { VerificationKey } from './verification-keys.ts'

export interface VerifiedSignature {
  readonly token: UnverifiedToken
  readonly key: VerificationKey
}

/** Forgets the least recently used beyond this many. */
const CAPACITY = 1000

export class VerifiedTokens {
  readonly #entries = new Map<string, VerifiedSignature>()

  /** Tokens are known by this, never by themselves. */
  static fingerprint(token: string): string {
    return hash('sha256', token, 'base64url')
  }

  find(fingerprint: string): VerifiedSignature | undefined {
    const entry = this.#entries.get(fingerprint)
    if (entry === undefined) return undefined
    this.#entries.delete(fingerprint)
    this.#entries.set(fingerprint, entry)
    return entry
  }

  add(fingerprint: string, entry: VerifiedSignature): void {
    this.#entries.set(fingerprint, entry)
    if (this.#entries.size <= CAPACITY) return
    const [oldest] = this.#entries.keys()
    if (oldest !== undefined) this.#entries.delete(oldest)
  }

  delete(fingerprint: string): void {
    this.#entries.delete(fingerprint)
  }
}
