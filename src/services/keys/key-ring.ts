/**
 * The signing keys of every process: made at the first start or when a client first asks for their algorithm,
 * published before they sign, followed by a successor on schedule or by command, and gone when their last token is
 * dead. What is current is decided by the clock alone, so that all processes agree without talking.
 */
import { generateKeyPair, exportJWK, calculateJwkThumbprint } from 'jose'
import type { FastifyBaseLogger } from 'fastify'
import { statements as clientStatements } from '../../store/clients.ts'
import type { Database } from '../../store/database.ts'
import { insertSigningKey, statements, type SigningKeyRow } from '../../store/signing-keys.ts'
import { isDuplicate } from '../../store/failures.ts'
import type { AuditTrail } from '../audit/audit.ts'
import { createBackgroundLoop } from '../background-loop.ts'
import type { ChangeFeed } from '../change-feed.ts'
import { toRingKey, type RingKey } from './ring-key.ts'
import type { SecretBox } from './secret-box.ts'

export type KeyState = 'next' | 'current' | 'retiring'

/** What the server can sign with: `alg` values of RFC 7518 §3.1 and RFC 8037 §3.1, each with keys of its own. */
const ALGORITHMS: readonly string[] = ['RS256', 'ES256', 'PS256', 'EdDSA']
/** ES256 for access tokens, RS256 for ID tokens (OpenID Connect Core §15.1); the others when a client wants them. */
const FROM_THE_START = ['ES256', 'RS256']

export interface KeyRing {
  /** The algorithms that are offered; not each has a key before `provide`. */
  readonly algorithms: readonly string[]
  /** Makes the first key of an algorithm that has none, once however many processes ask. */
  provide(algorithm: string): Promise<void>
  /** The key that signs now. Throws when there is none for the algorithm. */
  signer(algorithm: string): RingKey
  /** A published key by its kid. */
  find(kid: string): RingKey | undefined
  /** All that are published, oldest first. */
  keys(): readonly RingKey[]
  /** `{ "keys": [...] }` of RFC 7517 §5, as bytes. */
  jwks(): Buffer
  stateOf(key: RingKey): KeyState
  /** Publishes a successor that signs after `publishFor` seconds; returns it, or the one another process made. */
  rotate(algorithm: string, publishFor?: number): Promise<RingKey>
  /** Loads the keys, and makes the first. Throws when one cannot be decrypted. */
  start(): Promise<void>
  stop(): Promise<void>
}

/** @internal */
export interface KeyRingOptions {
  database: Database
  audit: AuditTrail
  box: SecretBox
  feed: ChangeFeed
  log: FastifyBaseLogger
  /** Seconds that a key is published before it signs. */
  publishFor: number
  /** Seconds after which a key is replaced; 0 for never. */
  rotateAfter: number
  /** Seconds: the longest life of a token, apart from what resources set. */
  longestLifetime: number
}

/** Seconds that a key is kept beyond its last token, for clocks that differ. */
const SLACK = 60

/** @internal */
export function createKeyRing(options: KeyRingOptions): KeyRing {
  const { database, audit, box, feed, log } = options
  let ring: readonly RingKey[] = []
  let published: { keys: readonly RingKey[]; body: Buffer } | undefined
  let loading = Promise.resolve()
  const providing = new Map<string, Promise<void>>()

  /** One after the other: what was read before a change must not replace what was read after it. */
  async function load(): Promise<void> {
    loading = loading.then(read, read)
    return loading
  }

  async function read(): Promise<void> {
    const rows = await database.query(statements.all)
    const known = new Map(ring.map((key) => [key.kid, key]))
    ring = rows.map((row) => toRingKey(row, box, known.get(row.kid)))
    for (const row of rows) if (!box.isCurrent(row.privateJwk)) await reseal(row)
  }

  /** Encrypts a key anew when SECRET_KEY has a new first entry. */
  async function reseal(row: SigningKeyRow): Promise<void> {
    const sealed = box.seal(box.open(row.privateJwk, row.kid), row.kid)
    await database.query(statements.reseal, [row.kid, row.privateJwk, sealed])
    log.info({ kid: row.kid }, 'signing key encrypted under the new SECRET_KEY')
  }

  const live = (now = Date.now()): readonly RingKey[] => {
    if (ring.every((key) => key.retiresAt === null || key.retiresAt > now)) return ring
    return ring.filter((key) => key.retiresAt === null || key.retiresAt > now)
  }
  const newest = (algorithm: string): RingKey | undefined =>
    ring.find((key) => key.algorithm === algorithm && key.retiresAt === null)

  function signer(algorithm: string): RingKey {
    const now = Date.now()
    // The first key signs at once, also where the clock of its maker is ahead of ours.
    const signs = ({ signsFrom, predecessor }: RingKey): boolean => signsFrom <= now || predecessor === ''
    const key = live(now).findLast((one) => one.algorithm === algorithm && signs(one))
    if (key === undefined) throw new Error(`there is no ${algorithm} key to sign with`)
    return key
  }

  async function create(
    algorithm: string,
    predecessor: RingKey | undefined,
    publishFor: number,
  ): Promise<void> {
    const { privateKey } = await generateKeyPair(algorithm, { extractable: true })
    const jwk = await exportJWK(privateKey)
    const { d: _d, p: _p, q: _q, dp: _dp, dq: _dq, qi: _qi, ...publicPart } = jwk
    const kid = await calculateJwkThumbprint(publicPart)
    const signsFrom = Math.max(Date.now() + publishFor * 1000, (predecessor?.signsFrom ?? 0) + 1)
    const retiresAt = predecessor && new Date(signsFrom + ((await longestLifetime()) + SLACK) * 1000)
    const key = {
      kid,
      algorithm,
      predecessor: predecessor?.kid ?? '',
      publicJwk: { ...publicPart, kid, use: 'sig', alg: algorithm },
      privateJwk: box.seal(JSON.stringify(jwk), kid),
      signsFrom: new Date(signsFrom),
    }
    const details = { kid, algorithm, signsFrom: key.signsFrom.toISOString() }
    try {
      await audit.transaction(async (query, note) => {
        await insertSigningKey(query, key, retiresAt)
        note({ type: 'key.created', details })
      })
    } catch (error) {
      // Another process was first.
      if (!isDuplicate(error)) throw error
    }
    await load()
  }

  async function provide(algorithm: string): Promise<void> {
    if (newest(algorithm) !== undefined) return
    assertOffered(algorithm)
    const making = providing.get(algorithm) ?? create(algorithm, undefined, 0)
    providing.set(algorithm, making)
    return making.finally(() => providing.delete(algorithm))
  }

  async function longestLifetime(): Promise<number> {
    const [row] = await database.query(clientStatements.longestLifetime)
    return Math.max(options.longestLifetime, row?.seconds ?? 0)
  }

  async function rotate(algorithm: string, publishFor = options.publishFor): Promise<RingKey> {
    assertOffered(algorithm)
    await load()
    const predecessor = newest(algorithm)
    await create(algorithm, predecessor, predecessor === undefined ? 0 : publishFor)
    const successor = newest(algorithm)
    if (successor === undefined) throw new Error(`no ${algorithm} key could be made`)
    return successor
  }

  const isDue = (key: RingKey | undefined): boolean =>
    key !== undefined && options.rotateAfter > 0 && Date.now() - key.signsFrom >= options.rotateAfter * 1000

  /** What the clock asks for: a successor for an old key, and no rows of dead ones. */
  async function tend(): Promise<void> {
    try {
      for (const algorithm of ALGORITHMS) {
        if (!isDue(newest(algorithm))) continue
        // Another process may have been first: its key is not to be replaced in turn.
        await load()
        const key = newest(algorithm)
        if (isDue(key)) await create(algorithm, key, options.publishFor)
      }
      await database.query(statements.prune)
    } catch (error) {
      log.warn({ err: error }, 'the signing keys could not be looked after; this is tried again')
    }
  }

  /** Seconds. */
  const every = Math.min(60, Math.max(1, options.rotateAfter === 0 ? 60 : options.rotateAfter / 4))
  const loop = createBackgroundLoop(tend, () => every * 1000)

  feed.on('signing_key', load)
  feed.onGap(load)

  return {
    algorithms: ALGORITHMS,
    provide,
    signer,
    find: (kid) => live().find((key) => key.kid === kid),
    keys: () => live(),
    jwks() {
      const keys = live()
      if (published?.keys.length !== keys.length || !published.keys.every((key, at) => key === keys[at])) {
        published = { keys, body: Buffer.from(JSON.stringify({ keys: keys.map((key) => key.publicJwk) })) }
      }
      return published.body
    },
    stateOf(key) {
      if (key.signsFrom > Date.now()) return 'next'
      return key.kid === signer(key.algorithm).kid ? 'current' : 'retiring'
    },
    rotate,
    async start() {
      await load()
      for (const algorithm of FROM_THE_START) await provide(algorithm)
      loop.start()
    },
    async stop() {
      await loop.stop()
      await Promise.allSettled(providing.values())
    },
  }
}

function assertOffered(algorithm: string): void {
  if (!ALGORITHMS.includes(algorithm)) throw new Error(`${algorithm} is not an algorithm of ours`)
}
