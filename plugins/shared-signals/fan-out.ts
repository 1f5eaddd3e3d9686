/**
 * From an event of the audit log to what each receiver hears of it. The event is kept in its own transaction; who hears of it takes
 * questions to the database, and is found out behind that.
 */
import type { FastifyInstance } from 'fastify'
import type { Client } from '../../src/doors/client.ts'
import { kernelOf } from '../../src/http/kernel-of.ts'
import type { EndedClient } from '../../src/events.ts'
import type { Bag } from '../../src/protocol/bag.ts'
import { Type } from '../../src/protocol/schema.ts'
import { isInUse } from '../../src/services/users/user.ts'
import {
  ACCOUNT_ENABLED,
  ACCOUNT_PURGED,
  CAUSES,
  causeOf,
  signalsFor,
  type Cause,
  type Signal,
} from './events.ts'
import type { Queue, Queued } from './queue.ts'
import { createRelatedClients } from './relations.ts'
import { queuedOf } from './sets.ts'
import { deliveredOf, type Stream } from './stream.ts'
import type { Streams } from './streams.ts'
import type { Subjects } from './subjects.ts'

const KIND = 'shared-signals'
/** Characters of the clients that one delivery names: it holds little more. */
const MOST = 30_000

const Ended = Type.Object({ client: Type.String(), sids: Type.Array(Type.String()) })

export interface FanOutParts {
  readonly streams: Streams
  readonly queue: Queue
  readonly subjects: Subjects
}

export function addFanOut(fastify: FastifyInstance, { streams, queue, subjects }: FanOutParts): void {
  const { oauth } = fastify
  const { directory } = kernelOf(fastify)
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
      .filter(({ type }) => delivered.has(type))
      .map((signal) =>
        queuedOf(stream, {
          cause: cause.id,
          subject: subjectOf(cause, client, signal),
          now,
          at: cause.at,
          ...signal,
        }),
      )
  }

  /** Whoever is enabled may be about to be deleted, whoever is kept may be disabled, and either may have happened since: they are not enabled then. */
  async function isTrue(cause: Cause): Promise<boolean> {
    if (!signalsFor('', cause).some(({ type }) => type === ACCOUNT_ENABLED)) return true
    const user = await directory.reloadUser(cause.user)
    return user === null || isInUse(user)
  }

  async function tell(cause: Cause): Promise<void> {
    if (!(await isTrue(cause))) return
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
      some: Type.Optional(Type.Boolean()),
      only: Type.Optional(Type.Boolean()),
      factor: Type.Optional(Type.String()),
    }),
    deliver: async (cause) => tell(cause as Cause),
  })
  oauth.deliver({
    kind: `${KIND}-client`,
    payload: Type.Object({ client: Type.String() }),
    deliver: async ({ client }, { enqueuedAt }) => streams.forget(client, enqueuedAt),
  })

  oauth.enqueueOn(CAUSES, (event) => {
    const cause = causeOf(event)
    return cause === null ? [] : partsOf(cause).map((payload) => ({ kind: KIND, payload }))
  })
  oauth.enqueueOn('client.deleted', ({ client }) =>
    client === undefined ? [] : [{ kind: `${KIND}-client`, payload: { client } }],
  )
}

/** As many as it takes for each to fit into a delivery. The first is for everybody, the others for their clients alone. */
function partsOf(cause: Cause): readonly Bag[] {
  const parts: EndedClient[][] = [[]]
  let size = 0
  for (const one of cause.clients) {
    const more = JSON.stringify(one).length + 1
    if (size > 0 && size + more > MOST) {
      parts.push([])
      size = 0
    }
    parts.at(-1)!.push(one)
    size += more
  }
  return parts.map((clients, at) => ({ ...cause, clients, ...(at === 0 ? {} : { only: true }) }))
}
