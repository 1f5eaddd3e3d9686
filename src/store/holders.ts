/**
 * What clients held of somebody that ends: theirs, unless it was another's that had the name before. One that is registered later is told
 * nothing of people whom it has never seen.
 */
import { Client } from '../entities/client.ts'
import type { EndedClient } from '../events.ts'
import { OWN_CLOCK_SKEW } from '../protocol/age-of.ts'
import { type Query, statement } from './statement.ts'

/** Sessions that an event names for each client. */
export const MOST_SIDS = 500

/** Given to a client in a session, or in none, at `since` for the last time: in seconds since the epoch. */
export interface Held {
  readonly client: string
  readonly sid: string | null
  readonly since: number
}

export const statements = {
  /** Since when those of $1 are registered; nothing of who is not. */
  registered: statement<Pick<Held, 'client' | 'since'>>('clients-registered', (table) => {
    const client = table(Client)
    const [id, at] = [client.column('clientId'), client.column('createdAt')]
    return `select ${id} as "client", extract(epoch from ${at})::float8 as "since" from ${client.name} where ${id} = any($1)`
  }),
}

/** Whom it is taken from, by their names, with the sessions. */
export async function holdersOf(query: Query, held: readonly Held[]): Promise<readonly EndedClient[]> {
  if (held.length === 0) return []
  const names = [...new Set(held.map(({ client }) => client))]
  const rows = await query(statements.registered, [names])
  const registered = new Map(rows.map(({ client, since }) => [client, since]))
  const theirs = held.filter(({ client, since }) => (registered.get(client) ?? 0) - OWN_CLOCK_SKEW <= since)
  const byClient = Map.groupBy(theirs, ({ client }) => client)
  return [...byClient]
    .toSorted(([one], [other]) => (one < other ? -1 : 1))
    .map(([client, all]) => {
      const sids = new Set(all.map(({ sid }) => sid).filter((sid) => sid !== null))
      return { client, sids: [...sids].slice(0, MOST_SIDS).toSorted() }
    })
}
