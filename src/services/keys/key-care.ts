/**
 * What is to be done with signing keys while time goes by: what was made is followed by another when it is old or in the wrong store, and
 * what is dead is removed from its store and from the database.
 */
import type { FastifyBaseLogger } from 'fastify'
import type { Database } from '../../store/database.ts'
import { statements } from '../../store/signing-keys.ts'
import { createBackgroundLoop } from '../background-loop.ts'
import { ALGORITHMS } from './algorithms.ts'
import { DATABASE } from './database-keys.ts'
import type { FirstKeys } from './first-keys.ts'
import { KeyStoreError, type KeyStores } from './key-stores.ts'
import type { RingKey } from './ring-key.ts'

export interface KeyCare {
  /** Has keys replaced that are elsewhere than KEYS has new ones made; what cannot be now is tried again. */
  settle(): Promise<void>
  /** Ends the private part of a key where it is. Throws `KeyStoreError`. */
  withdraw(key: Pick<RingKey, 'kid' | 'store' | 'reference'>): Promise<void>
  start(): void
  stop(): Promise<void>
}

export interface KeyCareOptions {
  database: Database
  log: FastifyBaseLogger
  stores: KeyStores
  firstKeys: FirstKeys
  /** Seconds. */
  rotateAfter: number
  publishFor: number
  /** Reads what other processes have done. */
  load(): Promise<void>
  /** The one without a successor. */
  newest(algorithm: string): RingKey | undefined
  create(algorithm: string, predecessor: RingKey, publishFor: number): Promise<void>
}

export function createKeyCare(options: KeyCareOptions): KeyCare {
  const { database, log, stores, firstKeys, rotateAfter, publishFor, load, newest, create } = options
  /** Algorithms whose keys are to be replaced by a start: once, since processes that disagree would go on for ever. */
  let unsettled: readonly string[] = []

  const isDue = (key: RingKey | undefined): key is RingKey =>
    key !== undefined && rotateAfter > 0 && Date.now() - key.signsFrom >= rotateAfter * 1000

  function isMisplaced(key: RingKey | undefined): key is RingKey {
    if (key === undefined) return false
    const maker = stores.makerOf(key.algorithm)
    return maker !== undefined && maker !== key.store
  }

  async function settleOne(algorithm: string): Promise<void> {
    await load()
    const key = newest(algorithm)
    if (!isMisplaced(key)) return
    // Where the former one cannot sign here, its successor does, though nobody has seen it yet.
    await create(algorithm, key, stores.find(key.store) === undefined ? 0 : publishFor)
    log.info({ algorithm, store: newest(algorithm)?.store }, 'new signing key, where KEYS has them made')
  }

  async function settleAll(): Promise<void> {
    for (const algorithm of unsettled) {
      await settleOne(algorithm)
      unsettled = unsettled.filter((one) => one !== algorithm)
    }
  }

  async function withdraw({
    kid,
    store,
    reference,
  }: Pick<RingKey, 'kid' | 'store' | 'reference'>): Promise<void> {
    if (store === DATABASE || (await stores.withdraw({ store, reference }))) return
    log.warn({ kid, store, reference }, 'a key that has done stays where it is: KEYS does not name its store')
  }

  /** A store would fill up with keys that have no row any more. One that is away is asked again. */
  async function prune(): Promise<void> {
    for (const key of await database.query(statements.dead)) {
      await withdraw(key)
      await database.query(statements.remove, [key.kid])
    }
  }

  async function replaceOld(): Promise<void> {
    for (const algorithm of ALGORITHMS) {
      if (!isDue(newest(algorithm)) || stores.makerOf(algorithm) === undefined) continue
      // Another process may have been first: its key is not to be replaced in turn.
      await load()
      const key = newest(algorithm)
      if (isDue(key)) await create(algorithm, key, publishFor)
    }
  }

  /** One that fails keeps nothing else from being done. */
  async function tend(): Promise<void> {
    for (const task of [stores.askAgain, firstKeys.tryAgain, settleAll, replaceOld, prune]) {
      try {
        await task()
      } catch (error) {
        const err = error instanceof KeyStoreError ? error.cause : error
        log.warn({ err }, 'the signing keys could not be looked after; this is tried again')
      }
    }
  }

  /** Milliseconds; sooner where something is left to be done that a store was away for. */
  const pause = (): number => {
    if (unsettled.length > 0 || firstKeys.lacking.size > 0) return 1000
    return Math.min(60, Math.max(1, rotateAfter === 0 ? 60 : rotateAfter / 4)) * 1000
  }
  const loop = createBackgroundLoop(tend, pause)

  return {
    withdraw,
    async settle() {
      unsettled = ALGORITHMS.filter((algorithm) => isMisplaced(newest(algorithm)))
      await settleAll().catch((error: unknown) =>
        log.warn({ err: error }, 'signing keys are not where KEYS has them made yet; this is tried again'),
      )
    },
    start: loop.start,
    stop: loop.stop,
  }
}
