/**
 * The life of the signing keys: made at the first start or when a client first asks for their algorithm, published before
 * they sign, followed by a successor on schedule or by command, and gone when their last token is dead, or revoked with all
 * that they signed. What is current is decided by the clock alone, so that all processes agree without talking.
 */
import type { JWK } from 'jose'
import { metadataError, OAuthError } from '../../protocol/errors.ts'
import { ConfigError } from '../../config.ts'
import type { ChangeFeed } from '../change-feed.ts'
import { ALGORITHMS } from './algorithms.ts'
import { createFirstKeys } from './first-keys.ts'
import { createKeyCare } from './key-care.ts'
import { createKeyChanges, type KeyChangesOptions } from './key-changes.ts'
import { mayHaveSigned } from './key-order.ts'
import { FROM_THE_START, type KeyStores } from './key-stores.ts'
import { createLoadedKeys, type LoadedKeys } from './loaded-keys.ts'
import type { RemoteSigner } from './remote-signer.ts'
import type { KeyRecord, RingKey } from './ring-key.ts'
import type { SecretBox } from './secret-box.ts'

export type KeyState = 'next' | 'current' | 'retiring' | 'revoked'

/** Seconds for which others may keep our JWKS; a new key is published for longer before it signs. */
export const JWKS_LIFETIME = 30

export interface KeyRing extends Pick<LoadedKeys, 'find' | 'signer' | 'revoked'> {
  /** The algorithms that are offered; not each has a key before `provide`. */
  readonly algorithms: readonly string[]
  /** Makes the first key of an algorithm that has none, once however many processes ask. */
  provide(algorithm: string): Promise<void>
  /** The signature of JWS by a key that another store than the database has. Throws 503 where it cannot be had in time. */
  sign: RemoteSigner['sign']
  /** What keeps a key that should sign from it, a sentence each. For operators. */
  troubles(): string[]
  /**
   * Whether what was issued at this instant, in milliseconds since the epoch, may be signed by the key of this kid: it is
   * published, and had no successor that signed by then.
   */
  mayHaveSigned(kid: string, issuedAt: number): boolean
  /** All that are published, oldest first. */
  keys(): readonly RingKey[]
  /** `{ "keys": [...] }` of RFC 7517 §5, as bytes. */
  jwks(): Buffer
  /** Has another key in it that signs nothing: what it is now is asked for each time. */
  publishToo(findJwk: () => JWK): void
  stateOf(key: KeyRecord): KeyState
  /** Seconds: what the tokens live for that live longest. */
  longestLifetime(): Promise<number>
  /**
   * Publishes a successor that signs after `publishFor` seconds; returns it, or the one another process made. Where the newest would sign
   * much later, since a clock was ahead or its own `publishFor` was longer, that one signs after these seconds, and is returned.
   */
  rotate(algorithm: string, publishFor?: number): Promise<RingKey>
  /** The same in the place of the newest key as it was seen, of the kid `former`: where that is not the newest any more, returns the one that is. */
  succeed(algorithm: string, former: string): Promise<RingKey>
  /**
   * Ends a key, and with it all that it signed, in every process within two seconds. If it signs, another does at once:
   * one that waits for its time, or a new one, which nobody has seen. Returns what is left of it, also of one that was
   * revoked before. Throws `OAuthError` where no key of this kid is published.
   */
  revoke(kid: string): Promise<KeyRecord>
  /** Opens the stores, loads the keys, and makes the first. Throws when one cannot be decrypted, or a store cannot be meant. */
  start(): Promise<void>
  /** Replaces keys that are not in the store in which KEYS has new ones made: for who serves, not for a command. */
  settle(): Promise<void>
  stop(): Promise<void>
}

/** @internal */
export interface KeyRingOptions extends KeyChangesOptions {
  stores: KeyStores
  remote: RemoteSigner
  box: SecretBox
  feed: ChangeFeed
  /** Seconds after which a key is replaced; 0 for never. */
  rotateAfter: number
}

/** @internal */
export function createKeyRing(options: KeyRingOptions): KeyRing {
  const { database, box, feed, log, stores, remote } = options
  const changes = createKeyChanges(options)
  const { load, live, find, newest, signer, signers, revoked } = createLoadedKeys({ database, box, log })
  let published: { keys: readonly JWK[]; body: Buffer } | undefined
  const others: (() => JWK)[] = []

  async function create(
    algorithm: string,
    predecessor: RingKey | undefined,
    publishFor: number,
  ): Promise<void> {
    // Where another process was first, its key serves.
    await changes.add(algorithm, predecessor, publishFor)
    await load()
  }

  const firstKeys = createFirstKeys(async (algorithm) => create(algorithm, undefined, 0))

  async function provide(algorithm: string): Promise<void> {
    if (newest(algorithm) !== undefined) return
    assertOffered(algorithm)
    return firstKeys.make(algorithm)
  }

  /** What would make keys elsewhere than everybody expects: a command that was not given the server's settings. */
  function assertNamed(key: RingKey | undefined): void {
    if (key !== undefined && stores.find(key.store) === undefined)
      throw new ConfigError(`KEYS must name ${key.store}, where the key ${key.kid} is.`)
  }

  async function rotate(
    algorithm: string,
    { publishFor = options.publishFor, former }: { publishFor?: number | undefined; former?: string },
  ): Promise<RingKey> {
    assertOffered(algorithm)
    await load()
    const isBrought = await changes.bringForward(algorithm, publishFor)
    if (isBrought) await load()
    const predecessor = newest(algorithm)
    if (isBrought && predecessor !== undefined) return predecessor
    // One that was made, or brought forward, by the same form before: it waits to sign.
    const isWaiting = (key: RingKey): boolean => key.kid !== former || key.signsFrom > Date.now()
    if (predecessor !== undefined && former !== undefined && isWaiting(predecessor)) return predecessor
    assertNamed(predecessor)
    await create(algorithm, predecessor, predecessor === undefined ? 0 : publishFor)
    const successor = newest(algorithm)
    if (successor === undefined) throw new Error(`no ${algorithm} key could be made`)
    return successor
  }

  async function revoke(kid: string, tries = 5): Promise<KeyRecord> {
    await load()
    const former = revoked().find((one) => one.kid === kid)
    if (former !== undefined) return former
    const key = find(kid)
    if (key === undefined) throw metadataError('kid', 'is not that of a published key')
    assertNamed(key)
    const done = await changes.end(
      key,
      live().filter(({ algorithm }) => algorithm === key.algorithm),
    )
    // Another process rotated or revoked a key meanwhile, so it may be another one that signs now.
    if (!done && tries === 1) throw new Error(`the keys change too often to revoke ${kid}`)
    if (done)
      await care
        .withdraw(key)
        .catch((error: unknown) => log.warn({ err: error, kid }, 'a revoked key is still in its store'))
    return revoke(kid, tries - 1)
  }

  const offered = (): readonly string[] => {
    const can = stores.algorithms()
    return ALGORITHMS.filter((one) => can.includes(one) || newest(one) !== undefined)
  }
  function assertOffered(algorithm: string): void {
    if (!offered().includes(algorithm)) throw new Error(`${algorithm} is not an algorithm of ours`)
  }

  const care = createKeyCare({ ...options, firstKeys, load, newest, create })

  feed.onAny('signing_key', load)
  feed.onGap(load)

  return {
    get algorithms() {
      return offered()
    },
    provide,
    signer,
    sign: remote.sign,
    troubles: () => [
      ...[...firstKeys.lacking].map(([algorithm, reason]) => `${algorithm} has no key: ${reason}`),
      ...signers().flatMap((key) => {
        const trouble = remote.troubleOf(key)
        return trouble === undefined ? [] : [`the ${key.algorithm} key ${key.kid}: ${trouble}`]
      }),
    ],
    find,
    mayHaveSigned(kid, issuedAt) {
      const key = find(kid)
      return key !== undefined && mayHaveSigned(key, issuedAt)
    },
    keys: live,
    jwks() {
      const keys = [...live().map(({ publicJwk }) => publicJwk), ...others.map((find) => find())]
      if (published?.keys.length !== keys.length || !published.keys.every((key, at) => key === keys[at]))
        published = { keys, body: Buffer.from(JSON.stringify({ keys })) }
      return published.body
    },
    publishToo: (find) => void others.push(find),
    revoked,
    stateOf(key) {
      if (key.revokedAt !== null) return 'revoked'
      if (key.kid === signer(key.algorithm).kid) return 'current'
      return key.signsFrom > Date.now() ? 'next' : 'retiring'
    },
    longestLifetime: changes.longestLifetime,
    rotate: async (algorithm, publishFor) => rotate(algorithm, { publishFor }),
    succeed: async (algorithm, former) => rotate(algorithm, { former }),
    revoke: async (kid) => revoke(kid),
    settle: care.settle,
    async start() {
      await stores.open()
      await load()
      for (const algorithm of FROM_THE_START)
        await provide(algorithm).catch((error: unknown) => {
          if (!(error instanceof OAuthError)) throw error
          log.error(`there is no ${algorithm} key to sign with: it is made when its store answers`)
        })
      care.start()
      remote.start(signers)
    },
    async stop() {
      // What they are asked for in the background ends with them, and keeps nobody waiting.
      await stores.close()
      await care.stop()
      await remote.stop()
      await firstKeys.stop()
    },
  }
}
