/** The stores of signing keys that KEYS names: whether each answers, what it can, and what is in it that no row knows. */
import { openTokenStore } from '../../plugins/pkcs11/store.ts'
import { ConfigError, type Config } from '../config.ts'
import type { OpenKeyStore } from '../doors/key-store.ts'
import { DATABASE } from '../services/keys/database-keys.ts'
import { nameOf } from '../services/keys/key-stores.ts'
import { within } from '../services/time-limit.ts'
import { fail, ok, warn, type Finding } from './finding.ts'

const CHECK = 'KEYS'
/** Milliseconds that a store may take. */
const PATIENCE = 10_000

export interface HeldKey {
  readonly store: string
  readonly reference: string
}

/** `held`: all keys that have a row, published or dead. */
export async function examineKeyStores(config: Config, held: readonly HeldKey[]): Promise<Finding[]> {
  const findings: Finding[] = []
  for (const entry of config.KEYS) findings.push(await examineStore(entry, config, held))
  const names = new Set([DATABASE, ...config.KEYS.map(nameOf)])
  for (const store of new Set(held.map((key) => key.store)))
    if (!names.has(store))
      findings.push(
        warn(CHECK, `There are keys in ${store}, which KEYS does not name: they cannot sign, or be ended there.`),
      )
  return findings
} // prettier-ignore

async function examineStore(entry: string, config: Config, held: readonly HeldKey[]): Promise<Finding> {
  const name = nameOf(entry)
  if (entry === DATABASE) return ok(CHECK, 'Keys of the database, sealed under SECRET_KEY.')
  if (!entry.startsWith('pkcs11:'))
    return ok(CHECK, `${name} is a store of a plugin: the log of a server tells whether it answers.`)
  let store: OpenKeyStore | undefined
  try {
    const opened = await openTokenStore(entry, { issuer: config.issuer, atOnce: 1 }, config.PKCS11_PIN)
    store = opened
    const can = await within(PATIENCE, async (signal) => opened.algorithms(signal))
    const listed = await within(PATIENCE, async (signal) => opened.list(signal))
    const strays = listed.filter((one) => !held.some(({ reference }) => reference === one))
    if (strays.length > 0)
      return warn(
        CHECK,
        `${name} has ${strays.length} keys of this issuer that no row knows, such as ${strays[0]}: delete them by its own tools, unless another server of this issuer uses them.`,
      )
    return ok(CHECK, `${name} answers, has ${listed.length} keys of ours, and makes ${can.join(', ')}.`)
  } catch (error) {
    if (error instanceof ConfigError) return fail(CHECK, error.message)
    return fail(
      CHECK,
      `${name} does not answer: ${(error as Error).message}: nothing is signed with its keys.`,
    )
  } finally {
    await store?.close()
  }
}
