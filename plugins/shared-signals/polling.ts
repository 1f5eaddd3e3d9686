/** The poll endpoint (RFC 8936): a receiver asks for what waits, and says what it has taken. */
import type { FastifyInstance } from 'fastify'
import { OAuthError } from '../../src/protocol/errors.ts'
import { Type } from '../../src/protocol/schema.ts'
import type { WaitingEventRow } from '../../src/store/security-events.ts'
import type { Queue } from './queue.ts'
import { READ, type ServeSignals } from './serving.ts'
import type { Sets } from './sets.ts'
import { POLL, type Stream } from './stream.ts'
import type { Streams } from './streams.ts'
import { createWaiting } from './waiting.ts'

/** In one answer: what a receiver asks for beyond is left for the next. */
const MOST = 100
const USUAL = 20
/** Taken or refused in one request. */
const MOST_TAKEN = 1000
const JTI = Type.String({ maxLength: 200 })

export interface PollingParts {
  readonly streams: Streams
  readonly queue: Queue
  readonly sets: Sets
}

export function addPolling(fastify: FastifyInstance, serve: ServeSignals, parts: PollingParts): void {
  const { streams, queue, sets } = parts
  const { log } = fastify
  const waiting = createWaiting(fastify)

  /** Throws where it is not asked for its events. */
  async function polled(client: string, id: string): Promise<Stream> {
    const stream = await streams.get(client, id)
    if (stream.delivery.method === POLL) return stream
    throw new OAuthError(
      'invalid_request',
      'the events of this stream are pushed: there is nothing to ask for',
    )
  }

  /** What waits; while nothing does, asks again when something comes, for a while, or at once says that there is nothing. */
  async function find(
    { client, id }: Stream,
    most: number,
    waiter: { next(): Promise<boolean> } | null,
  ): Promise<readonly WaitingEventRow[]> {
    for (;;) {
      const rows = await queue.list(await polled(client, id), most)
      if (rows.length > 0 || waiter === null || !(await waiter.next())) return rows
    }
  }

  serve({
    method: 'POST',
    path: '/poll/:stream_id',
    scope: READ,
    parameters: Type.Object({
      maxEvents: Type.Optional(Type.Integer({ minimum: 0 })),
      returnImmediately: Type.Optional(Type.Boolean()),
      ack: Type.Optional(Type.Array(JTI, { maxItems: MOST_TAKEN })),
      setErrs: Type.Optional(Type.Object({})),
    }),
    async handle({ maxEvents = USUAL, returnImmediately = false, ack = [] }, { token, path, body, reply }) {
      const stream = await polled(token.clientId, path['stream_id'] ?? '')
      const refused = Object.keys(body['setErrs'] ?? {})
      if (refused.length > MOST_TAKEN) throw new OAuthError('invalid_request', 'setErrs has too many members')
      await queue.remove(
        stream.id,
        [...ack, ...refused].filter((jti) => !jti.includes('\0')),
      )
      if (refused.length > 0)
        log.warn(
          { client: stream.client, count: refused.length },
          'a receiver refused security events (setErrs)',
        )
      const most = Math.min(maxEvents, MOST)
      if (most === 0) return { sets: {} }
      const waiter = returnImmediately ? null : waiting.begin(stream.id, reply.raw)
      try {
        const rows = await find(stream, most + 1, waiter)
        const signed = rows
          .slice(0, most)
          .map(async ({ jti, claims }) => [jti, await sets.compact(claims)] as const)
        return {
          sets: Object.fromEntries(await Promise.all(signed)),
          ...(rows.length > most ? { moreAvailable: true } : {}),
        }
      } finally {
        waiter?.end()
      }
    },
  })
}
