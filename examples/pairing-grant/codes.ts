/** What people have allowed and no app has fetched yet, each under the code that they were shown. */
import { randomInt } from 'node:crypto'
import { grantedFromJson, grantedToJson, type Granted, type OAuth, type StoredGranted } from 'latchkey'

interface Pairing {
  readonly client: string
  readonly granted: StoredGranted
}

export interface Pairings {
  /** Returns the code, in groups as people read it. */
  create(client: string, granted: Granted): Promise<string>
  /** By what was typed; null for what is not good, or not for this client. The handle is what a token request spends. */
  find(typed: string, client: string): Promise<{ handle: string; granted: Granted } | null>
}

/** The kind of artifact. */
export const PAIRING = 'pairing'
/** Seconds. */
export const LIFETIME = 300

const DIGITS = 10

export function createPairings({ artifacts }: OAuth): Pairings {
  const pairings = artifacts<Pairing>(PAIRING, { lifetime: LIFETIME })

  return {
    async create(client, granted) {
      for (;;) {
        const code = Array.from({ length: DIGITS }, () => randomInt(10)).join('')
        // Somebody else may have this one at the moment.
        const handle = await pairings.put({ client, granted: grantedToJson(granted) }, { handle: code })
        if (handle !== false) return `${code.slice(0, 5)} ${code.slice(5)}`
      }
    },

    async find(typed, client) {
      const handle = typed.replaceAll(/[\s-]/g, '')
      const found = await pairings.get(handle)
      if (found === null || found.client !== client) return null
      return { handle, granted: grantedFromJson(found.granted) }
    },
  }
}
