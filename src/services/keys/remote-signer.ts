/**
 * Signing with keys that others hold: a line before each store, a limit for each signature, and a look at each before it leaves.
 * A key that could not sign once is not asked by requests until it has signed a trial, so that nobody waits for what is away;
 * it comes back by itself. One that signs now and then is tried meanwhile, so that it is known before somebody needs it.
 */
import type { FastifyBaseLogger } from 'fastify'
import { shed } from '../shedding.ts'
import { within } from '../time-limit.ts'
import { TRIAL, type KeyStores } from './key-stores.ts'
import type { RingKey } from './ring-key.ts'
import { isSignature } from './signatures.ts'
import { createSigningLine, type SigningLine } from './signing-line.ts'

export interface RemoteSigner {
  /** The signature over `input` (RFC 7515 §5.1). Throws `temporarily_unavailable` (503) where it cannot be had in time. */
  sign(key: RingKey, input: Uint8Array): Promise<Uint8Array>
  /** Why this key cannot sign at the moment; undefined where it can. For operators. */
  troubleOf(key: RingKey): string | undefined
  /** `signers`: the keys that sign now, in whatever store. Those of others are tried. */
  start(signers: () => readonly RingKey[]): void
  stop(): Promise<void>
}

export interface RemoteSignerOptions {
  stores: Pick<KeyStores, 'find'>
  /** Signatures of one store that are under way at once. */
  atOnce: number
  log: FastifyBaseLogger
  /** Milliseconds that a signature may take. */
  limit?: number
}

/** Milliseconds. */
const LIMIT = 5_000
/** From one look at the keys to the next. */
const LOOK = 1_000
/** After which a key that has signed nothing is tried. */
const IDLE = 10_000

export function createRemoteSigner(options: RemoteSignerOptions): RemoteSigner {
  const { stores, atOnce, log, limit = LIMIT } = options
  const lines = new Map<string, SigningLine>()
  const troubles = new Map<string, string>()
  const signed = new Map<string, number>()
  const trying = new Map<string, Promise<void>>()
  let timer: NodeJS.Timeout | undefined
  let stopped = false

  function lineOf({ store }: RingKey): SigningLine {
    const line = lines.get(store) ?? createSigningLine(atOnce)
    lines.set(store, line)
    return line
  }

  /** What the store gives for `input`, if it is what it should be. */
  async function ask({ store, reference, algorithm, publicKey }: RingKey, input: Uint8Array): Promise<Uint8Array> {
    const named = stores.find(store)
    if (named === undefined) throw new Error(unnamed(store))
    const signature = await within(limit, async (signal) => named.store.sign(reference, algorithm, input, signal))
    if (!(await isSignature(algorithm, publicKey, input, signature)))
      throw new Error('what it signed is not by this key')
    return signature
  } // prettier-ignore

  function note(key: RingKey, error: unknown): void {
    const { kid, store } = key
    const known = troubles.has(kid)
    troubles.set(kid, error instanceof Error ? error.message : String(error))
    if (known) return
    log.error({ err: error, kid, store }, 'a key cannot sign: what it would sign is answered with 503')
    void tryOnce(key)
  }

  /** Whether it signs by now. */
  async function tryOnce(key: RingKey): Promise<void> {
    const { kid, store } = key
    const underWay = trying.get(kid)
    if (underWay !== undefined || stopped) return underWay
    const trial = ask(key, TRIAL)
      .then(() => {
        signed.set(kid, performance.now())
        if (troubles.delete(kid)) log.info({ kid, store }, 'the key signs again')
      })
      .catch((error: unknown) => note(key, error))
      .finally(() => trying.delete(kid))
    trying.set(kid, trial)
    return trial
  }

  function look(signers: () => readonly RingKey[]): void {
    timer = setTimeout(() => {
      for (const key of signers()) {
        if (key.privateKey !== undefined) continue
        const idle = performance.now() - (signed.get(key.kid) ?? -Infinity) > IDLE
        if (idle || troubles.has(key.kid)) void tryOnce(key)
      }
      look(signers)
    }, LOOK).unref()
  }

  return {
    async sign(key, input) {
      if (troubles.has(key.kid)) throw shed('keys')
      return lineOf(key).run(async () => {
        // Found out by those who were before.
        if (troubles.has(key.kid)) throw shed('keys')
        try {
          const signature = await ask(key, input)
          signed.set(key.kid, performance.now())
          return signature
        } catch (error) {
          note(key, error)
          throw shed('keys')
        }
      })
    },
    troubleOf: ({ kid, store }) =>
      troubles.get(kid) ?? (stores.find(store) === undefined ? unnamed(store) : undefined),
    start: look,
    async stop() {
      stopped = true
      clearTimeout(timer)
      await Promise.allSettled(trying.values())
    },
  }
}

function unnamed(store: string): string {
  return `it is in ${store}, which KEYS does not name`
}
