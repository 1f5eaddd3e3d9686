/** The signing keys as plugins and embedders get them: what is known of each, and never what it signs with. */
import type { KeyRing } from './key-ring.ts'
import type { KeyRecord } from './ring-key.ts'

export interface PublishedKeys {
  /** The algorithms that are offered, once the server has started; not each has a key before `provide`. */
  readonly algorithms: readonly string[]
  /** Makes the first key of an algorithm that has none, once however many processes ask. */
  provide(algorithm: string): Promise<void>
  /** All that are published, oldest first. */
  keys(): readonly KeyRecord[]
  /** `{ "keys": [...] }` of RFC 7517 §5, as bytes. */
  jwks(): Buffer
  /**
   * Publishes a successor that signs after `publishFor` seconds; returns it, or the one another process made. Where the newest would sign
   * much later, since a clock was ahead or its own `publishFor` was longer, that one signs after these seconds, and is returned.
   */
  rotate(algorithm: string, publishFor?: number): Promise<KeyRecord>
  /**
   * Ends a key, and with it all that it signed, in every process within two seconds; returns what is left of it. Throws
   * `OAuthError` where no key of this kid is published.
   */
  revoke(kid: string): Promise<KeyRecord>
}

/** @internal */
export function publishedKeysOf(ring: KeyRing): PublishedKeys {
  return {
    get algorithms() {
      return ring.algorithms
    },
    provide: ring.provide,
    keys: () => ring.keys().map(recordOf),
    jwks: ring.jwks,
    rotate: async (algorithm, publishFor) => recordOf(await ring.rotate(algorithm, publishFor)),
    revoke: async (kid) => recordOf(await ring.revoke(kid)),
  }
}

function recordOf(key: KeyRecord): KeyRecord {
  const { kid, algorithm, predecessor, store, createdAt, signsFrom, retiresAt, revokedAt } = key
  return { kid, algorithm, predecessor, store, createdAt, signsFrom, retiresAt, revokedAt }
}
