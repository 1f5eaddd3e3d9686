/** Of whom a receiver may hear: of people who use it, as what was taken from it, what it holds, what they allowed it, and the log of what happened say. */
import type { FastifyInstance } from 'fastify'
import type { Client } from '../../src/doors/client.ts'
import { ENDINGS, type AuditEvent, type EndedClient } from '../../src/events.ts'
import { kernelOf } from '../../src/http/kernel-of.ts'
import type { Bag } from '../../src/protocol/bag.ts'
import { isOfClient } from '../../src/services/clients/same-client.ts'
import type { Cause } from './events.ts'

/** Those of `clients` that the user of the cause is or was known to. */
export type RelatedClients = (cause: Cause, clients: readonly Client[]) => Promise<ReadonlySet<string>>

/** Pages of a hundred: of what somebody uses. */
const MOST_PAGES = 10
/** Pages of what happened to them: half a million events, which take two seconds. */
const MOST_LOGGED = 100
const PAGE = 100
/** Types of events that name a client of whom they are about: the others are many, as each refresh is one. */
const TELLING = [...ENDINGS, 'consent.given']

export function createRelatedClients(fastify: FastifyInstance): RelatedClients {
  const { consents, audit } = kernelOf(fastify)

  return async ({ user, at, clients: taken }, clients) => {
    const found = new Set<string>()
    // What happened before a client was registered is nothing to it, whoever had its name then.
    const wanted = clients.filter((client) => isOfClient(client.clientId, at, client))
    const byId = new Map(wanted.map((client) => [client.clientId, client]))
    const isAll = (): boolean => found.size === wanted.length
    function add(id: string, instant: number): void {
      const client = byId.get(id)
      if (client !== undefined && isOfClient(id, instant, client)) found.add(id)
    }

    for (const { client } of taken) add(client, at)
    let after = ''
    for (let page = 0; page < MOST_PAGES && !isAll(); page++) {
      const connected = await consents.list(user, { after, limit: PAGE })
      for (const { clientId, usedAt } of connected) add(clientId, usedAt)
      if (connected.length < PAGE) break
      after = connected.at(-1)!.clientId
    }
    let before: string | undefined
    for (let page = 0; page < MOST_LOGGED && !isAll(); page++) {
      const { events, next } = await audit.list({ user, type: TELLING }, { before, limit: PAGE })
      for (const event of events)
        for (const id of event.user === user ? clientsOf(event) : []) add(id, event.at)
      if (next === null) break
      before = next
    }
    return found
  }
}

/** Which had something of the user, or were given something. */
function clientsOf({ type, client, details }: AuditEvent): readonly string[] {
  const { clients = [] } = details as Bag & { clients?: readonly EndedClient[] }
  return [
    ...clients.map((one) => one.client),
    ...(type === 'consent.given' && client !== undefined ? [client] : []),
  ]
}
