/** Streams in the interface of the administration: what their pages do, for programs. */
import type { FastifyInstance } from 'fastify'
import type { BearerCall } from '../../src/doors/endpoint.ts'
import type { Bag } from '../../src/protocol/bag.ts'
import { inEnglish } from '../../src/protocol/message.ts'
import { Type } from '../../src/protocol/schema.ts'
import { administers } from '../admin-api/clients.ts'
import { Instant, instant } from '../admin-api/instants.ts'
import { cursorOf, limitOf, listAnswer, listed, ListQuery, pageOf, SearchQuery } from '../admin-api/lists.ts'
import type { AdminApi } from '../admin-api/operations.ts'
import { notFound } from '../programs/refusals.ts'
import { wordsOfFailure } from './failure-words.ts'
import { OPERATED, type Operated, type Operating } from './operating.ts'
import type { Overview, StreamState } from './overview.ts'
import { deliveredOf, MOST_REASON, STATUSES, type Stream } from './stream.ts'
import { ASLEEP, originOf } from './stream-view.ts'
import type { KeptStream, Streams } from './streams.ts'
import type { Subjects } from './subjects.ts'

const READ = 'latchkey:clients:read'
const WRITE = 'latchkey:clients:write'
const ONE = '/event-streams/:stream_id'

const Attempt = Type.Object({
  at: Instant(),
  milliseconds: Type.Integer(),
  taken: Type.Boolean(),
  text: Type.String({ description: 'How many events were taken, or why none was.' }),
  advice: Type.Optional(Type.String({ description: 'The same in a sentence, and what to do about it.' })),
})
const EventStream = Type.Object(
  {
    stream_id: Type.String(),
    client_id: Type.String(),
    status: Type.Enum([...STATUSES]),
    reason: Type.Optional(Type.String({ description: 'Of whoever set the status.' })),
    asleep: Type.Optional(
      Type.Boolean({ description: 'True: its app hears nothing, whatever the status is.' }),
    ),
    advice: Type.Optional(Type.String({ description: 'Why it sleeps, and what to do about it.' })),
    method: Type.String({ description: 'urn:ietf:rfc:8935 is push, urn:ietf:rfc:8936 poll.' }),
    origin: Type.Optional(
      Type.String({ description: 'Of the address to which events are pushed; in its rest may be a secret.' }),
    ),
    description: Type.Optional(Type.String({ description: 'In the words of its app.' })),
    events: Type.Array(Type.String(), { description: 'The event types that are delivered.' }),
    waiting: Type.Integer({ description: 'Events; 501 stands for more.' }),
    waiting_since: Type.Optional(Instant('The first of them.')),
    given_up: Type.Integer({ description: 'Deliveries, each tried for a day; 501 stands for more.' }),
    failing_since: Type.Optional(Instant()),
    rests_until: Type.Optional(Instant('It is not tried before.')),
    attempts: Type.Array(Attempt, { description: 'Of push: the last 20, the latest first.' }),
  },
  { title: 'EventStream' },
)

export interface OperationParts {
  readonly streams: Streams
  readonly overview: Overview
  readonly subjects: Subjects
  readonly operating: Operating
}

export function addOperations(
  { oauth }: FastifyInstance,
  api: AdminApi,
  { streams, overview, subjects, operating }: OperationParts,
): void {
  async function get({ path }: Pick<BearerCall, 'path'>): Promise<KeptStream> {
    const kept = await streams.findKept(path['stream_id'] ?? '')
    if (kept === null) throw notFound('stream')
    return kept
  }

  /** That of a client which administers the server is for whoever may do all, as the client is. */
  async function getToChange(call: BearerCall): Promise<Stream> {
    const { stream } = await get(call)
    const client = await oauth.clients.find(stream.client)
    if (client !== null && administers(client))
      await api.assertAll(call, 'what is done to the stream of a client that administers the server')
    return stream
  }

  async function answerOf(kept: KeptStream): Promise<Bag> {
    const [state] = await overview([kept])
    return toWire(state!)
  }

  api.serve({
    method: 'GET',
    path: '/event-streams',
    name: 'listEventStreams',
    summary: 'Streams by which apps hear of security events, by client_id, and how they are doing',
    scope: READ,
    query: Type.Object({
      client_id: Type.Optional(Type.String({ maxLength: 512 })),
      ...ListQuery.properties,
    }),
    answer: listAnswer('event_streams', EventStream),
    async handle({ client_id: clientId, ...query }) {
      const after = cursorOf(query) ?? ''
      const all = (await streams.listKept()).filter(
        ({ stream: { client } }) => client > after && (clientId === undefined || client === clientId),
      )
      const states = await overview(all.slice(0, limitOf(query) + 1))
      return listed('event_streams', query, states, { nameOf: ({ stream }) => stream.client, toWire })
    },
  })
  api.serve({
    method: 'GET',
    path: ONE,
    name: 'getEventStream',
    summary: 'One stream of security events',
    scope: READ,
    answer: { status: 200, schema: EventStream },
    handle: async (_query, call) => answerOf(await get(call)),
  })
  api.serve({
    method: 'DELETE',
    path: ONE,
    name: 'deleteEventStream',
    summary: 'Removes a stream, with what waits for it; its app may make another one',
    scope: WRITE,
    answer: { status: 204 },
    async handle(_query, call) {
      await operating.remove((await getToChange(call)).id)
    },
  })
  api.serve({
    method: 'POST',
    path: `${ONE}/status`,
    name: 'setEventStreamStatus',
    summary: 'Pauses or enables a stream; its app is told, with the reason',
    scope: WRITE,
    body: Type.Object({
      status: Type.Enum([...OPERATED]),
      reason: Type.Optional(Type.String({ maxLength: MOST_REASON })),
    }),
    answer: { status: 200, schema: EventStream },
    async handle(_query, call) {
      const { id } = await getToChange(call)
      await operating.setStatus(id, call.body as unknown as Operated)
      return answerOf(await get(call))
    },
  })
  api.serve({
    method: 'POST',
    path: `${ONE}/verification`,
    name: 'verifyEventStream',
    summary: 'Sends a verification event; every ten seconds at most, and where the stream is enabled',
    scope: WRITE,
    answer: { status: 202 },
    async handle(_query, call) {
      await operating.verify((await getToChange(call)).id)
    },
  })
  api.serve({
    method: 'GET',
    path: `${ONE}/removed-subjects`,
    name: 'listRemovedSubjects',
    summary: 'Of whom the app does not want to hear, by the sub that it knows them by',
    // It says who somebody is at the app, found by their name or address.
    scope: 'latchkey:users:read',
    query: Type.Object({
      ...SearchQuery.properties,
      search: Type.Optional(
        Type.String({ maxLength: 320, description: 'A user name, a verified email address or a sub.' }),
      ),
    }),
    answer: listAnswer('removed_subjects', Type.Object({ sub: Type.String() })),
    async handle({ search, ...query }, call) {
      const { stream } = await get(call)
      const onWire = (sub: string) => ({ sub })
      if (search !== undefined)
        return pageOf('removed_subjects', (await subjects.search(stream, search.trim())).map(onWire), null)
      const more = await subjects.list(stream.id, { after: cursorOf(query) ?? '', limit: limitOf(query) + 1 })
      return listed('removed_subjects', query, more, { nameOf: (sub) => sub, toWire: onWire })
    },
  })
}

function toWire(state: StreamState): Bag {
  const { stream, isAsleep, waiting, waitingSince, failingSince, restsUntil, givenUp, outcomes } = state
  const origin = originOf(stream)
  return {
    stream_id: stream.id,
    client_id: stream.client,
    status: stream.status,
    ...(stream.reason === undefined ? {} : { reason: stream.reason }),
    ...(isAsleep ? { asleep: true, advice: inEnglish(ASLEEP) } : {}),
    method: stream.delivery.method,
    ...(origin === null ? {} : { origin }),
    ...(stream.description === undefined ? {} : { description: stream.description }),
    events: deliveredOf(stream),
    waiting,
    ...(waitingSince === null ? {} : { waiting_since: instant(waitingSince) }),
    given_up: givenUp,
    ...(failingSince === null ? {} : { failing_since: instant(failingSince) }),
    ...(restsUntil === null ? {} : { rests_until: instant(restsUntil) }),
    attempts: outcomes.map(({ at, milliseconds, done, text }) => ({
      at: instant(at),
      milliseconds,
      taken: done,
      text,
      ...(done ? {} : { advice: inEnglish(wordsOfFailure(text)) }),
    })),
  }
} // prettier-ignore
