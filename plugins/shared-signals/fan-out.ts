/**
 * From an event of the audit log to what each receiver hears of it. The event is kept in its own transaction; who hears of it takes
 * questions to the database, and is found out behind that.
 */
import type { FastifyInstance } from 'fastify'
import type { Client } from '../../src/doors/client.ts'
import type { EndedClient } from '../../src/events.ts'
import type { Bag } from '../../src/protocol/bag.ts'
import { Type } from '../../src/protocol/schema.ts'
import { ACCOUNT_PURGED, CAUSES, causeOf, signalsFor, type Cause, type Signal } from './events.ts'
import type { Queue, Queued } from './queue.ts'
import { createRelatedClients } from './relations.ts'
import { queuedOf } from './sets.ts'
import { deliveredOf, type Stream } from './stream.ts'
import type { Streams } from './streams.ts'
import type { Subjects } from './subjects.ts'

const KIND = 'shared-signals'
/** Characters of what is kept of an event: a delivery holds little more. */
const MOST = 30_000

const Ended = Type.Object({ client: Type.String(), sids: Type.Array(Type.String()) })

export interface FanOutParts {
  readonly streams: Streams
  readonly queue: Queue
  readonly subjects: Subjects
}

export function addFanOut(fastify: FastifyInstance, { streams, queue, subjects }: FanOutParts): void {
  const { oauth } = fastify
  const related = createRelatedClients(fastify)

  /** As the client knows them (RFC 9493 §3.2.4), also where they are gone by now. */
  function subjectOf({ user }: Cause, client: Client, { sid }: Signal): Bag {
    const known = { format: 'iss_sub', iss: oauth.issuer, sub: oauth.subjectOf(user, client) }
    if (sid === undefined) return known
    return { format: 'complex', user: known, session: { format: 'opaque', id: sid } }
  }

  function eventsFor(cause: Cause, stream: Stream, client: Client): readonly Queued[] {
    const delivered = new Set(deliveredOf(stream))
    const now = Date.now()
    return signalsFor(client.clientId, cause)
      .map((signal, place) => ({ signal, place }))
      .filter(({ signal }) => delivered.has(signal.type))
      .map(({ signal, place }) =>
        queuedOf(stream, {
          cause: cause.id,
          place,
          subject: subjectOf(cause, client, signal),
          now,
          ...signal,
        }),
      )
  }

  async function tell(cause: Cause): Promise<void> {
    const all: [Stream, Client][] = []
    for (const stream of await streams.list()) {
      const client = await oauth.findClient(stream.client)
      if (client !== null) all.push([stream, client])
    }
    const listening = all.filter(
      ([{ status, client }]) => status !== 'disabled' && signalsFor(client, cause).length > 0,
    )
    if (listening.length > 0) await tellThose(cause, listening)
    // Whoever is gone needs not be left out any more, nor be remembered.
    if (signalsFor('', cause).some(({ type }) => type === ACCOUNT_PURGED))
      for (const [stream, client] of all)
        await subjects.forget(stream.id, oauth.subjectOf(cause.user, client))
  }

  async function tellThose(cause: Cause, listening: readonly [Stream, Client][]): Promise<void> {
    const known = await related(
      cause,
      listening.map(([, client]) => client),
    )
    const wanted = listening.filter(([, client]) => known.has(client.clientId))
    const removed = await subjects.removedFrom(
      wanted.map(([stream, client]) => ({ stream: stream.id, subject: oauth.subjectOf(cause.user, client) })),
    )
    const events: Queued[] = []
    for (const [stream, client] of wanted)
      if (!removed.has(stream.id)) events.push(...eventsFor(cause, stream, client))
    await queue.add(events)
  }

  oauth.deliver({
    kind: KIND,
    payload: Type.Object({
      id: Type.String(),
      at: Type.Number(),
      type: Type.String(),
      user: Type.String(),
      by: Type.String(),
      clients: Type.Array(Ended),
      sid: Type.Optional(Type.String()),
      some: Type.Optional(Type.Boolean()),
      factor: Type.Optional(Type.String()),
    }),
    deliver: async (cause) => tell(cause as Cause),
  })
  oauth.deliver({
    kind: `${KIND}-client`,
    payload: Type.Object({ client: Type.String() }),
    deliver: async ({ client }) => streams.forget(client),
  })

  oauth.enqueueOn(CAUSES, (event) => {
    const cause = causeOf(event)
    return cause === null ? [] : [{ kind: KIND, payload: kept(cause) }]
  })
  oauth.enqueueOn('client.deleted', ({ client }) =>
    client === undefined ? [] : [{ kind: `${KIND}-client`, payload: { client } }],
  )
}

/** Without the sessions of who had so many that they do not fit: their apps are told of all that they had. */
function kept(cause: Cause): Bag {
  if (JSON.stringify(cause).length <= MOST) return { ...cause }
  const clients: EndedClient[] = cause.clients.slice(0, 100).map(({ client }) => ({ client, sids: [] }))
  return { ...cause, clients }
}
