/**
 * Client secrets: how they are made, stored and compared. A generated one has 256 bits, so a keyed hash keeps it
 * safe; a chosen or imported one may be weak, so it gets argon2id. What was right is remembered for a short while,
 * what was wrong never; which of the two hashes a wrong one costs depends on its own form, not on what is stored.
 */
import { hash, randomBytes } from 'node:crypto'
import { argon2id } from '../users/argon2id.ts'
import type { HashingQueue } from '../users/hashing-queue.ts'
import { createBoundedCache } from '../bounded-cache.ts'
import type { SecretBox } from '../keys/secret-box.ts'

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

const GENERATED = /^lks_[A-Za-z0-9_-]{43}$/
/** Milliseconds. */
const REMEMBERED_FOR = 300_000

export function generateClientSecret(): string {
  return `lks_${randomBytes(32).toString('base64url')}`
}

export function createClientSecrets(box: SecretBox, queue: HashingQueue): ClientSecrets {
  const salt = randomBytes(32).toString('base64url')
  /** What was found right lately, by a digest that only this process can make: one short hash tells the next time. */
  const remembered = createBoundedCache<true>(10_000, { ttl: REMEMBERED_FOR })

  const digest = (presented: string, { hash: stored }: StoredSecret): string =>
    hash('sha256', `${salt}${stored}\0${presented}`, 'base64url')

  function findGenerated(presented: string, stored: readonly StoredSecret[]): StoredSecret | undefined {
    const candidates = stored.filter((one) => !one.hash.startsWith('$'))
    if (candidates.length === 0) box.matches(presented, box.hash('absent'))
    return candidates.find((one) => box.matches(presented, one.hash))
  }

  async function findChosen(
    presented: string,
    stored: readonly StoredSecret[],
  ): Promise<StoredSecret | undefined> {
    const candidates = stored.filter((one) => argon2id.recognizes(one.hash))
    for (const one of candidates) {
      if (await queue.run(async () => argon2id.verify(one.hash, presented))) return one
    }
    if (candidates.length === 0) {
      const absent = await argon2id.absent()
      await queue.run(async () => argon2id.verify(absent, presented))
    }
    return undefined
  }

  return {
    generate: generateClientSecret,
    async hash(secret) {
      return GENERATED.test(secret) ? box.hash(secret) : queue.run(async () => argon2id.hash(secret))
    },
    async verify(presented, stored, now) {
      const live = stored.filter((one) => one.expiresAt === null || one.expiresAt > now)
      const known = live.find((one) => remembered.has(digest(presented, one)))
      if (known !== undefined) return known
      const find = GENERATED.test(presented) ? findGenerated : findChosen
      const found = await find(presented, live)
      if (found !== undefined) remembered.set(digest(presented, found), true)
      return found
    },
    rehash: (presented, stored) =>
      stored.hash.startsWith('$') || box.isCurrent(stored.hash) ? undefined : box.hash(presented),
  }
}
