/** The first key of an algorithm: once however many ask for it, and without anybody waiting for a store that is away. */
import { shed } from '../shedding.ts'
import { within } from '../time-limit.ts'
import { KeyStoreError } from './key-stores.ts'

export interface FirstKeys {
  /** Makes it. Throws `temporarily_unavailable` (503) where that takes longer than a request waits, and goes on with it. */
  make(algorithm: string): Promise<void>
  /** Tries those again that could not be made. */
  tryAgain(): Promise<void>
  /** Why there is none, by algorithm. For operators. */
  readonly lacking: ReadonlyMap<string, string>
  /** Waits for what is under way. */
  stop(): Promise<void>
}

/** Milliseconds that a request waits. */
const WAIT = 5_000
/** Milliseconds after which one that could not be made is tried again for a request. */
const AGAIN = 1_000

/** `create` stores one, or finds that another process has. */
export function createFirstKeys(create: (algorithm: string) => Promise<void>): FirstKeys {
  const making = new Map<string, Promise<void>>()
  const lacking = new Map<string, string>()
  const failedAt = new Map<string, number>()

  async function makeOne(algorithm: string): Promise<void> {
    try {
      await create(algorithm)
      lacking.delete(algorithm)
    } catch (error) {
      if (error instanceof KeyStoreError) {
        lacking.set(algorithm, error.reason)
        failedAt.set(algorithm, performance.now())
      }
      throw error
    } finally {
      making.delete(algorithm)
    }
  }

  async function begin(algorithm: string): Promise<void> {
    const underWay = making.get(algorithm) ?? makeOne(algorithm)
    making.set(algorithm, underWay)
    return underWay
  }

  return {
    lacking,
    async make(algorithm) {
      if (performance.now() - (failedAt.get(algorithm) ?? -Infinity) < AGAIN) throw shed('keys')
      try {
        await within(WAIT, async () => begin(algorithm))
      } catch (error) {
        if (error instanceof KeyStoreError || isTimeout(error)) throw shed('keys')
        throw error
      }
    },
    async tryAgain() {
      for (const algorithm of lacking.keys()) await begin(algorithm)
    },
    async stop() {
      await Promise.allSettled(making.values())
    },
  }
}

function isTimeout(error: unknown): boolean {
  return error instanceof DOMException && error.name === 'TimeoutError'
}
