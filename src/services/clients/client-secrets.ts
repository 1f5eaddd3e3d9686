/**
 * Client secrets: how they are made, stored and compared. A generated one has 256 bits, so a keyed hash keeps it
 * safe; a chosen or imported one may be weak, so it gets argon2id. What was right is remembered while it is in use and
 * a short while after, what was wrong never; which of the two hashes a wrong one costs depends on its own form, not on
 * what is stored.
 */
import { hash, randomBytes, randomUUID } from 'node:crypto'
import { createArgon2id, type Argon2id } from '../hashing/argon2id.ts'
import type { HashingQueue } from '../hashing/hashing-queue.ts'
import { createBoundedCache } from '../bounded-cache.ts'
import type { SecretBox } from '../keys/secret-box.ts'

/** A stored secret, as `store/clients.ts` reads it. */
export interface StoredSecret {
  id: string
  hash: string
  /** The secret itself, for a client of client_secret_jwt. */
  sealed: string | null
  /** Milliseconds since the epoch, or null for no end. */
  expiresAt: number | null
}

/** A new secret, as it is stored. */
export interface NewSecret {
  /** Of its row, where it follows from that. */
  readonly id?: string
  readonly hash: string
  readonly sealed: string | null
}

/** Whose secret must be read again, to check what it has keyed; of all others the hash alone is kept. */
export const SEALED_METHOD = 'client_secret_jwt'

/** Whether a client with this method could use the secret: one that is sealed is for nothing else. */
export function isUsable(
  { sealed }: { readonly sealed?: string | null | undefined },
  method: string | null | undefined,
): boolean {
  return ((sealed ?? null) !== null) === (method === SEALED_METHOD)
}

interface SecretHolder {
  readonly clientId: string
  readonly tokenEndpointAuthMethod?: string | null | undefined
}

export interface ClientSecrets {
  /** A new secret: `lks_` and 256 random bits, base64url; 512 for one that keys an HMAC (RFC 7518 §3.2). */
  generate(method?: string | null): string
  /** The hash to store: argon2id, unless the secret has the form of a generated one. */
  hash(secret: string): Promise<string>
  /** What is stored of the secret of this client; undefined where there is none. */
  toStore(client: SecretHolder, secret: string | undefined, hash: string | undefined): NewSecret | undefined
  /** A sealed secret of this client. Throws when no SECRET_KEY fits. */
  open(clientId: string, stored: StoredSecret): string
  /** Sealed and hashed anew, where that was under a former SECRET_KEY, else undefined. */
  reseal(clientId: string, stored: StoredSecret): NewSecret | undefined
  /**
   * Which of `stored` the presented secret is, if any. Takes the same time whatever is stored, also for many who ask
   * the same at once: `claimed`, the client_id of the request, tells who do where nothing is stored.
   */
  verify(
    presented: string,
    stored: readonly StoredSecret[],
    now: number,
    claimed?: string,
  ): Promise<StoredSecret | undefined>
  /** A new hash for a generated secret that was hashed under a former SECRET_KEY, else undefined. */
  rehash(presented: string, stored: StoredSecret): string | undefined
}

const GENERATED = /^lks_(?:[A-Za-z0-9_-]{43}|[A-Za-z0-9_-]{86})$/
/** Milliseconds since its last use. */
const REMEMBERED_FOR = 300_000
const USE = { updateAgeOnGet: true }

export function generateClientSecret(method?: string | null): string {
  return clientSecretOf(randomBytes(64), method)
}

/** A secret in the form of a generated one, of 64 bytes that nobody guesses. */
export function clientSecretOf(bytes: Buffer, method: string | null | undefined): string {
  return `lks_${bytes.subarray(0, method === SEALED_METHOD ? 64 : 32).toString('base64url')}`
}

/** One client's sealed secret cannot be made another's. */
const contextOf = (clientId: string): string => `client secret ${clientId}`

export function createClientSecrets(
  box: SecretBox,
  queue: HashingQueue,
  argon2id: Argon2id = createArgon2id(),
): ClientSecrets {
  const salt = randomBytes(32).toString('base64url')
  /**
   * What was found right lately, by a digest that only this process can make: one short hash tells the next time. It
   * is of both the secret and the stored hash, so that what was right stays right, and ends with the stored hash.
   */
  const remembered = createBoundedCache<true>(10_000, { ttl: REMEMBERED_FOR })
  /** Slow verifications that run or wait, by the same digest and whose network asks: as many as the queue takes. */
  const underway = new Map<string, Promise<boolean>>()

  const digest = (presented: string, stored: string): string =>
    hash('sha256', `${salt}${stored}\0${presented}`, 'base64url')

  /**
   * Whoever asks from one network whether `what` is right gets the same answer, also that the line is full: it refuses by
   * network, so that those of another wait in their own name. What one of them proves meanwhile the others need not.
   */
  async function verifyOnce(what: string, presented: string, stored: string): Promise<boolean> {
    const asked = `${what}\0${queue.network()}`
    const begun = underway.get(asked)
    if (begun !== undefined) return begun
    const verification = queue
      .run(async () => remembered.has(what) || argon2id.verify(stored, presented))
      .finally(() => underway.delete(asked))
    underway.set(asked, verification)
    return verification
  }

  function findGenerated(presented: string, stored: readonly StoredSecret[]): StoredSecret | undefined {
    const candidates = stored.filter((one) => !one.hash.startsWith('$'))
    if (candidates.length === 0) box.matches(presented, box.hash('absent'))
    return candidates.find((one) => box.matches(presented, one.hash))
  }

  async function findChosen(
    presented: string,
    stored: readonly StoredSecret[],
    claimed: string,
  ): Promise<StoredSecret | undefined> {
    const candidates = stored.filter((one) => argon2id.recognizes(one.hash))
    for (const one of candidates) {
      if (await verifyOnce(digest(presented, one.hash), presented, one.hash)) return one
    }
    if (candidates.length === 0) {
      const absent = await argon2id.absent()
      await verifyOnce(digest(presented, `${absent}\0${claimed}`), presented, absent)
    }
    return undefined
  }

  return {
    generate: generateClientSecret,
    async hash(secret) {
      return GENERATED.test(secret) ? box.hash(secret) : queue.run(async () => argon2id.hash(secret))
    },
    async verify(presented, stored, now, claimed = randomUUID()) {
      const live = stored.filter((one) => one.expiresAt === null || one.expiresAt > now)
      const known = live.find((one) => remembered.get(digest(presented, one.hash), USE))
      if (known !== undefined) return known
      const find = GENERATED.test(presented) ? findGenerated : findChosen
      const found = await find(presented, live, claimed)
      if (found !== undefined) remembered.set(digest(presented, found.hash), true)
      return found
    },
    toStore({ clientId, tokenEndpointAuthMethod: method }, secret, hash) {
      if (secret === undefined || hash === undefined) return undefined
      return { hash, sealed: method === SEALED_METHOD ? box.seal(secret, contextOf(clientId)) : null }
    },
    open: (clientId, { sealed }) => box.open(sealed ?? '', contextOf(clientId)),
    reseal(clientId, stored) {
      if (stored.sealed === null || box.isCurrent(stored.sealed)) return undefined
      const secret = box.open(stored.sealed, contextOf(clientId))
      const hash = stored.hash.startsWith('$') ? stored.hash : box.hash(secret)
      return { hash, sealed: box.seal(secret, contextOf(clientId)) }
    },
    rehash: (presented, stored) =>
      stored.hash.startsWith('$') || box.isCurrent(stored.hash) ? undefined : box.hash(presented),
  }
}
