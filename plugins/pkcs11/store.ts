/**
 * A store of keys that is a PKCS #11 token. What breaks a session, or the process that has it, is met by another process that logs in
 * anew; a PIN that was refused is not tried a second time, since tokens lock themselves.
 */
import { ConfigError } from '../../src/config.ts'
import type { GeneratedKey, KeyStoreOptions, OpenKeyStore } from '../../src/doors/key-store.ts'
import { readPin } from './pin.ts'
import { startTokenProcess, TokenFailure, type TokenProcess } from './token-process.ts'
import { parseTokenUri } from './uri.ts'

/** Milliseconds in which a token is opened: longer than a request waits, who comes later has it. */
const OPEN_LIMIT = 30_000
/** Milliseconds from one try to open a token to the next, which is a process that begins. */
const [PAUSE, LONGEST_PAUSE] = [500, 4000]

type Asked = Parameters<TokenProcess['ask']>[0]

/** Throws `ConfigError` for an address that cannot be meant, or a PIN that cannot be read. */
export async function openTokenStore(
  uri: string,
  { issuer, atOnce }: KeyStoreOptions,
  givenPin: string | undefined,
): Promise<OpenKeyStore> {
  const { token, modulePath, pinFile } = parseTokenUri(uri)
  if (pinFile !== undefined && givenPin !== undefined)
    throw new ConfigError('KEYS has a pin-source, and PKCS11_PIN is set: one of them is enough.')
  const findPin = async (): Promise<string | undefined> =>
    pinFile === undefined ? givenPin : readPin(pinFile)
  await findPin()

  let current: Promise<TokenProcess> | undefined
  /** A token that could not be opened, and how long nobody tries again. */
  let failed: { error: Error; at: number; pause: number } | undefined
  let refused: { pin: string | undefined; message: string } | undefined
  const closing = new AbortController()

  async function connect(): Promise<TokenProcess> {
    const signal = AbortSignal.any([closing.signal, AbortSignal.timeout(OPEN_LIMIT)])
    const pin = await findPin()
    if (refused !== undefined && refused.pin === pin) throw pinRefused(refused.message)
    try {
      const options = { token, modulePath, pin, label: `latchkey ${issuer}` }
      const connected = await startTokenProcess(options, atOnce, signal)
      refused = undefined
      return connected
    } catch (error) {
      if (!(error instanceof TokenFailure)) throw error
      if (error.kind === 'config') throw new ConfigError(`KEYS: ${error.message}.`)
      if (error.kind !== 'pin') throw error
      refused = { pin, message: error.message }
      throw pinRefused(error.message)
    }
  }

  /** The process of now, or another one; who comes while it begins shares it. */
  async function processFor(signal: AbortSignal): Promise<TokenProcess> {
    const before = current
    const known =
      before &&
      (await orGiveUp(
        before.catch(() => undefined),
        signal,
      ))
    if (known !== undefined && !known.ended) return known
    // The first of those who waited for it begins another.
    if (current === before) current = undefined
    if (failed !== undefined && performance.now() - failed.at < failed.pause) throw failed.error
    current ??= connect()
      .then((connected) => {
        failed = undefined
        return connected
      })
      .catch((error: Error) => {
        failed = {
          error,
          at: performance.now(),
          pause: Math.min(LONGEST_PAUSE, 2 * (failed?.pause ?? PAUSE / 2)),
        }
        throw error
      })
    // Also where all have given up who waited for it.
    current.catch(() => {})
    return orGiveUp(current, signal)
  }

  async function ask(question: Asked, until: AbortSignal, repeatable: boolean): Promise<unknown> {
    const signal = AbortSignal.any([until, closing.signal])
    for (let again = repeatable; ; again = false) {
      const connected = await processFor(signal)
      try {
        return await connected.ask(question, signal)
      } catch (error) {
        const broken = error instanceof TokenFailure && (error.kind === 'broken' || error.kind === 'ended')
        // Its session, its login or a handle may be good for nothing any more: the next one begins with all of them anew.
        if (broken) connected.end()
        if (!broken || !again || signal.aborted) throw error
      }
    }
  }

  return {
    algorithms: async (signal) => (await ask({ of: 'algorithms' }, signal, true)) as string[],
    // A second one would leave the first behind, where it was made after all.
    generate: async (algorithm, signal) =>
      (await ask({ of: 'generate', algorithm }, signal, false)) as GeneratedKey,
    sign: async (reference, algorithm, input, signal) =>
      (await ask({ of: 'sign', reference, algorithm, input }, signal, true)) as Uint8Array,
    async withdraw(reference, signal) {
      await ask({ of: 'withdraw', reference }, signal, true)
    },
    list: async (signal) => (await ask({ of: 'list' }, signal, true)) as string[],
    async close() {
      closing.abort(new Error('the server stops'))
      const connected = await current?.catch(() => undefined)
      connected?.end()
    },
  }
}

/** What comes of it, unless the signal gives up first; it goes on for others. */
async function orGiveUp<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  signal.throwIfAborted()
  let giveUp!: () => void
  const late = new Promise<never>((_resolve, reject) => {
    giveUp = () => reject(signal.reason as Error)
    signal.addEventListener('abort', giveUp, { once: true })
  })
  try {
    return await Promise.race([work, late])
  } finally {
    signal.removeEventListener('abort', giveUp)
  }
}

function pinRefused(message: string): ConfigError {
  return new ConfigError(`KEYS: ${message}. The same PIN is not tried again.`)
}
