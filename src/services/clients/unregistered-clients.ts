/** Clients of the door `clientSource`, as the directory serves them: from memory while they are good, and else from their source. */
import type { ClientSource, SourcedClient } from '../../doors/client-source.ts'
import type { Client } from '../../doors/client.ts'
import { OAuthError } from '../../protocol/errors.ts'
import { createBoundedCache } from '../bounded-cache.ts'
import type { Profiles } from './profiles.ts'
import { toClient } from './served-client.ts'

export interface UnregisteredClients {
  /** From memory, as it was last known; undefined where that may be another by now. */
  peek(clientId: string): Client | undefined
  /** From memory, one that may do something. */
  peekServed(clientId: string): Client | undefined
  /** As it was last known; asks nobody elsewhere. */
  recall(clientId: string): Promise<Client | null>
  /** As it is now, or was for a while; null also where that cannot be found out. */
  find(clientId: string): Promise<Client | null>
  /** As it is now. Throws `OAuthError` where that cannot be found out, or not be taken. */
  admit(clientId: string): Promise<Client | null>
  /** What a change of `key` may have made another. */
  forget(key: string): void
  clear(): void
}

interface Known {
  readonly client: Client
  readonly away: OAuthError | undefined
  /** Milliseconds since the epoch. */
  readonly goodUntil: number
  /** Whether it was asked for as it is. */
  readonly isServed: boolean
}

const MOST = 20_000
/** Milliseconds: what other processes have found out meanwhile, or blocked, is seen after that. */
const LONGEST = 60_000

export function createUnregisteredClients(
  sources: () => ReadonlyMap<string, ClientSource>,
  profiles?: Pick<Profiles, 'served' | 'conflictOf'>,
): UnregisteredClients {
  const known = createBoundedCache<Known>(MOST)
  const finding = new Map<string, Promise<Known | null>>()
  /** Grows with each change: what was read before one is not kept after it. */
  let generation = 0

  function sourceOf(clientId: string): [string, ClientSource] | undefined {
    for (const [key, source] of sources()) if (source.recognizes(clientId)) return [key, source]
    return undefined
  }

  function fresh(clientId: string): Known | undefined {
    const found = known.get(clientId)
    return found !== undefined && Date.now() < found.goodUntil ? found : undefined
  }

  function served(
    registrar: string,
    { client, unregistered, since, goodUntil, away }: SourcedClient,
  ): Omit<Known, 'isServed'> {
    const {
      clientName = null,
      responseTypes = null,
      grantTypes = null,
      tokenEndpointAuthMethod = null,
    } = client
    const row = { ...client, clientName, responseTypes, grantTypes, tokenEndpointAuthMethod, registrar }
    const nothing = { secrets: [], scopeClients: [], createdAt: new Date(since) }
    // What is kept beside it is equal to what was kept before where the client is.
    const revision = JSON.stringify(client)
    const made = toClient({ ...row, ...nothing, revision }, profiles, unregistered)
    return { client: made, away, goodUntil: Math.min(goodUntil, Date.now() + LONGEST) }
  }

  async function load(clientId: string, isServed: boolean): Promise<Known | null> {
    const [registrar, source] = sourceOf(clientId) ?? []
    if (registrar === undefined || source === undefined) return null
    const begun = generation
    const found = await (isServed ? source.find(clientId) : source.recall(clientId))
    if (found === null) return null
    const loaded = { ...served(registrar, found), isServed }
    // Who only shows it must not put what is old in the place of what is new.
    const isOlder = !isServed && fresh(clientId)?.isServed === true
    if (begun === generation && !isOlder) known.set(clientId, loaded)
    return loaded
  }

  async function find(clientId: string): Promise<Known | null> {
    const had = fresh(clientId)
    if (had?.isServed) return had
    const started =
      finding.get(clientId) ??
      load(clientId, true).finally(() => {
        finding.delete(clientId)
      })
    finding.set(clientId, started)
    return started
  }

  return {
    peek: (clientId) => fresh(clientId)?.client,
    peekServed(clientId) {
      const found = fresh(clientId)
      return found?.isServed ? found.client : undefined
    },
    recall: async (clientId) => (fresh(clientId) ?? (await load(clientId, false)))?.client ?? null,
    async find(clientId) {
      try {
        return (await find(clientId))?.client ?? null
      } catch (error) {
        if (error instanceof OAuthError && error.code === 'invalid_client') return null
        throw error
      }
    },
    async admit(clientId) {
      const found = await find(clientId)
      if (found?.away !== undefined) throw found.away
      return found?.client ?? null
    },
    forget(key) {
      if (sources().size === 0 || !/^https?:/.test(key)) return
      generation++
      known.clear()
    },
    clear() {
      generation++
      known.clear()
    },
  }
}
