/**
 * The stores that KEYS names, in its order: new keys are made in the first that can, all are asked to sign with the keys that they
 * have. What a store answers is checked, and one that does not answer keeps nobody waiting.
 */
import type { FastifyBaseLogger } from 'fastify'
import { calculateJwkThumbprint, type JWK } from 'jose'
import { ConfigError } from '../../config.ts'
import type { KeyStore, OpenKeyStore } from '../../doors/key-store.ts'
import { OAuthError } from '../../protocol/errors.ts'
import { within } from '../time-limit.ts'
import { ALGORITHMS } from './algorithms.ts'
import { createDatabaseKeys, DATABASE } from './database-keys.ts'
import type { SecretBox } from './secret-box.ts'
import { isSignature, publicKeyFor } from './signatures.ts'

/** A store by the name under which its keys are stored. */
export interface NamedStore {
  readonly name: string
  readonly store: OpenKeyStore
}

export interface MadeKey {
  readonly kid: string
  readonly algorithm: string
  readonly publicJwk: JWK
  readonly store: string
  readonly reference: string
}

export interface KeyStores {
  /** Opens them, and asks what each can. Throws `ConfigError` for one that cannot be meant, or that must be mended. */
  open(): Promise<void>
  /** Asks those again that did not answer. */
  askAgain(): Promise<void>
  /** Those for which a key can be made. */
  algorithms(): readonly string[]
  /** Where the next key of an algorithm is made; undefined where none can. */
  makerOf(algorithm: string): string | undefined
  find(name: string): NamedStore | undefined
  /** A new key that has signed what it was asked to. Throws `KeyStoreError`. */
  make(algorithm: string): Promise<MadeKey>
  /** Ends the private part of a key; false where it is in a store that KEYS does not name. Throws `KeyStoreError`. */
  withdraw(key: Pick<MadeKey, 'store' | 'reference'>): Promise<boolean>
  close(): Promise<void>
}

export interface KeyStoresOptions {
  /** As KEYS has them. */
  entries: readonly string[]
  atOnce: number
  issuer: string
  box: SecretBox
  owners: () => ReadonlyMap<string, KeyStore>
  log: FastifyBaseLogger
}

/** A store that did not do what it was asked for: 503. */
export class KeyStoreError extends OAuthError {
  /** What happened, for the log and for operators. */
  readonly reason: string

  constructor(store: string, what: string, cause: unknown) {
    super('temporarily_unavailable', 'a store of keys did not answer; try again', { cause })
    this.reason = `${store}: ${what}: ${cause instanceof Error ? cause.message : String(cause)}`
  }
}

/** ES256 for access tokens, RS256 for ID tokens (OpenID Connect Core §15.1). */
export const FROM_THE_START = ['ES256', 'RS256']
/** What a store is taken to have keys for that has not said it yet. */
const USUAL = ['RS256', 'ES256', 'PS256', 'ES384', 'ES512']
/** No JWT: nobody takes a signature over it for one. */
export const TRIAL = Buffer.from('latchkey: may this key sign?')
/** Milliseconds. Hardware may think about an RSA key for a while. */
const GENERATE_LIMIT = 30_000
const ASK_LIMIT = 5_000
const START_LIMIT = 20_000
/** Characters. */
const LONGEST_REFERENCE = 1024
/** Which store an entry of KEYS is stands before its query. */
export const nameOf = (entry: string): string => entry.split('?', 1)[0]!

interface Entry extends NamedStore {
  /** Undefined until it has said it. */
  algorithms: readonly string[] | undefined
}

export function createKeyStores(options: KeyStoresOptions): KeyStores {
  const { atOnce, issuer, box, owners, log } = options
  const database: Entry = { name: DATABASE, store: createDatabaseKeys(box), algorithms: ALGORITHMS }
  /** In the order of KEYS. */
  let entries: readonly Entry[] = []

  const find = (name: string): Entry | undefined =>
    // Who has SECRET_KEY has these, whatever KEYS says.
    name === DATABASE ? database : entries.find((one) => one.name === name)

  async function openEntry(uri: string): Promise<Entry> {
    if (uri === DATABASE) return database
    const scheme = /^([a-z][a-z0-9+.-]*):/.exec(uri)?.[1]
    const owner = scheme === undefined ? undefined : owners().get(scheme)
    if (owner === undefined)
      throw new ConfigError(
        `KEYS must list ${[DATABASE, ...[...owners().keys()].map((one) => `${one}:…`)].join(', ')}; it has ${JSON.stringify(scheme === undefined ? nameOf(uri).slice(0, 80) : `${scheme}:`)}.`,
      )
    return { name: nameOf(uri), store: await owner.open(uri, { issuer, atOnce }), algorithms: undefined }
  }

  async function ask(entry: Entry, limit: number): Promise<void> {
    try {
      const can = await within(limit, async (signal) => entry.store.algorithms(signal))
      entry.algorithms = ALGORITHMS.filter((one) => can.includes(one))
    } catch (error) {
      if (error instanceof ConfigError) throw error
      log.warn({ err: error, store: entry.name }, 'a store of keys does not answer; it is asked again')
    }
  }

  const askAgain = async (): Promise<void> => {
    for (const entry of entries) if (entry.algorithms === undefined) await ask(entry, ASK_LIMIT)
  }

  function makerOf(algorithm: string): string | undefined {
    // One that has not said what it can may be the one that is wanted.
    return entries.find(({ algorithms }) => algorithms?.includes(algorithm) ?? true)?.name
  }

  /** One that lacks what every server signs with is no place for keys, unless another stands behind it. */
  function assertComplete(): void {
    const lacking = FROM_THE_START.find((algorithm) => makerOf(algorithm) === undefined)
    if (lacking !== undefined)
      throw new ConfigError(
        `KEYS: no store that it names makes keys for ${lacking}, which tokens are signed with: add ${DATABASE} at its end.`,
      )
  }

  /** What it made is what it says that it is, and signs. */
  async function tried(entry: Entry, algorithm: string): Promise<MadeKey> {
    const { name, store } = entry
    const { reference, publicJwk } = await within(GENERATE_LIMIT, async (signal) =>
      store.generate(algorithm, signal),
    )
    try {
      if (typeof reference !== 'string' || (name !== DATABASE && reference.length > LONGEST_REFERENCE))
        throw new Error('it gave a reference that is too long')
      const key = publicKeyFor(algorithm, publicJwk)
      const signature = await within(ASK_LIMIT, async (signal) =>
        store.sign(reference, algorithm, TRIAL, signal),
      )
      if (!(await isSignature(algorithm, key, TRIAL, signature)))
        throw new Error('it signed with another key than it gave')
      const jwk = key.export({ format: 'jwk' }) as JWK
      const kid = await calculateJwkThumbprint(jwk)
      return {
        kid,
        algorithm,
        publicJwk: { ...jwk, kid, use: 'sig', alg: algorithm },
        store: name,
        reference,
      }
    } catch (error) {
      await withdraw({ store: name, reference }).catch(() => {})
      throw error
    }
  }

  async function withdraw({ store, reference }: Pick<MadeKey, 'store' | 'reference'>): Promise<boolean> {
    const entry = find(store)
    if (entry === undefined) return false
    try {
      await within(GENERATE_LIMIT, async (signal) => entry.store.withdraw(reference, signal))
      return true
    } catch (cause) {
      throw new KeyStoreError(store, 'a key could not be ended', cause)
    }
  }

  return {
    async open() {
      entries = await Promise.all(options.entries.map(openEntry))
      for (const entry of entries) if (entry.algorithms === undefined) await ask(entry, START_LIMIT)
      assertComplete()
    },
    askAgain,
    algorithms: () =>
      ALGORITHMS.filter((algorithm) =>
        entries.some(({ algorithms }) => (algorithms ?? USUAL).includes(algorithm)),
      ),
    makerOf,
    find,
    async make(algorithm) {
      const name = makerOf(algorithm)
      if (name === undefined) throw new Error(`${algorithm} is not an algorithm of ours`)
      try {
        return await tried(find(name)!, algorithm)
      } catch (cause) {
        if (name === DATABASE) throw cause
        throw new KeyStoreError(name, `no ${algorithm} key could be made`, cause)
      }
    },
    withdraw,
    async close() {
      await Promise.allSettled(entries.map(async ({ store }) => store.close()))
    },
  }
}
