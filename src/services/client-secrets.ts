/**
 * Client secrets: how they are made, stored and compared. A generated one has 256 bits, so a keyed hash keeps it
 * safe at 5 µs a check; a chosen or imported one may be weak, so it gets argon2id and a short-lived cache of
 * successes. Which of the two a request costs depends on what was presented, never on what is stored.
 */
import argon2 from 'argon2'
import { LRUCache } from 'lru-cache'
import { createHmac, createSecretKey, randomBytes } from 'node:crypto'
import type { HashingQueue } from './hashing-queue.ts'
import type { SecretBox } from './secret-box.ts'

/** A stored secret, as `store/clients.ts` reads it. */
export interface StoredSecret {
  id: string
  hash: string
  /** Milliseconds since the epoch, or null for no end. */
  expiresAt: number | null
}

export interface ClientSecrets {
  /** A new secret: `lks_` and 256 random bits, base64url. */
  generate(): string
  /** The hash to store: argon2id, unless the secret has the form of a generated one. */
  hash(secret: string): Promise<string>
  /** Which of `stored` the presented secret is, if any. Takes the same time whatever is stored. */
  verify(presented: string, stored: readonly StoredSecret[], now: number): Promise<StoredSecret | undefined>
  /** A new hash for a generated secret that was hashed under a former SECRET_KEY, else undefined. */
  rehash(presented: string, stored: StoredSecret): string | undefined
}

/** OWASP's parameters: 19 MiB, two passes, one lane. */
const ARGON2 = { type: argon2.argon2id, memoryCost: 19_456, timeCost: 2, parallelism: 1 } as const
const GENERATED = /^lks_[A-Za-z0-9_-]{43}$/
const CACHED_FOR = 300_000

export function createClientSecrets(box: SecretBox, queue: HashingQueue): ClientSecrets {
  const cacheKey = createSecretKey(randomBytes(32))
  const verified = new LRUCache<string, true>({ max: 10_000, ttl: CACHED_FOR, ttlAutopurge: false })
  let dummy: Promise<string> | undefined

  async function slowlyMatches(presented: string, hash: string): Promise<boolean> {
    const key = createHmac('sha256', cacheKey).update(hash).update('\0').update(presented).digest('base64url')
    if (verified.has(key)) return true
    const matches = await queue.run(async () => argon2.verify(hash, presented))
    if (matches) verified.set(key, true)
    return matches
  }

  async function verifyChosen(
    presented: string,
    stored: readonly StoredSecret[],
  ): Promise<StoredSecret | undefined> {
    const candidates = stored.filter((one) => one.hash.startsWith('$argon2'))
    for (const one of candidates) if (await slowlyMatches(presented, one.hash)) return one
    if (candidates.length === 0) {
      dummy ??= argon2.hash(randomBytes(32).toString('base64url'), ARGON2)
      await slowlyMatches(presented, await dummy)
    }
    return undefined
  }

  return {
    generate: () => `lks_${randomBytes(32).toString('base64url')}`,
    async hash(secret) {
      return GENERATED.test(secret) ? box.hash(secret) : queue.run(async () => argon2.hash(secret, ARGON2))
    },
    async verify(presented, stored, now) {
      const live = stored.filter((one) => one.expiresAt === null || one.expiresAt > now)
      if (!GENERATED.test(presented)) return verifyChosen(presented, live)
      const hashed = live.filter((one) => !one.hash.startsWith('$'))
      if (hashed.length === 0) box.matches(presented, box.hash('absent'))
      return hashed.find((one) => box.matches(presented, one.hash))
    },
    rehash: (presented, stored) =>
      stored.hash.startsWith('$') || box.isCurrent(stored.hash) ? undefined : box.hash(presented),
  }
}
