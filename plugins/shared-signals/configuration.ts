/** The configuration endpoint (SSF 1.0 §8.1.1): a receiver makes its stream, reads, changes and deletes it. */
import type { FastifyInstance } from 'fastify'
import { isDeepStrictEqual } from 'node:util'
import { answer } from '../../src/doors/answer.ts'
import type { NewEvent } from '../../src/events.ts'
import type { Bag } from '../../src/protocol/bag.ts'
import { OAuthError } from '../../src/protocol/errors.ts'
import { isStorable } from '../../src/protocol/json.ts'
import { Type } from '../../src/protocol/schema.ts'
import { notFound } from '../programs/refusals.ts'
import { createReadDelivery, DeliverySchema } from './delivery.ts'
import type { Queue } from './queue.ts'
import { MANAGE, READ, StreamId, type ServeSignals } from './serving.ts'
import type { Sets } from './sets.ts'
import type { Stream, StreamConfiguration } from './stream.ts'
import type { Streams } from './streams.ts'

export const CONFIGURATION = '/stream'

const Optional = {
  delivery: Type.Optional(DeliverySchema),
  events_requested: Type.Optional(Type.Array(Type.String({ maxLength: 500 }), { maxItems: 100 })),
  description: Type.Optional(Type.String({ maxLength: 10_000 })),
}
/** What only we say: who sends it back must say the same. */
const OURS = ['iss', 'aud', 'events_supported', 'events_delivered', 'min_verification_interval'] as const
/** Characters that are kept of a description. */
const MOST_DESCRIBED = 500
/** Characters of the types that are asked for, as JSON: ours are some hundred. */
const MOST_REQUESTED = 16_000
/** Of all that a receiver says, as JSON: with what we say of a stream it fits into a record. */
const MOST_CONFIGURED = 24_000

export interface ConfigurationParts {
  readonly streams: Streams
  readonly queue: Queue
  readonly sets: Sets
  readonly toWire: (stream: Stream) => Bag
}

export function addConfiguration(
  fastify: FastifyInstance,
  serve: ServeSignals,
  { streams, queue, sets, toWire }: ConfigurationParts,
): void {
  const readDelivery = createReadDelivery(fastify)

  /** What `body` says of it, beside the former one; what it does not say is as `rest` has it. */
  function configurationOf(
    body: Bag & Partial<Received>,
    former?: Stream,
    rest?: Stream,
  ): StreamConfiguration {
    if (!isStorable(body))
      throw new OAuthError('invalid_request', 'the body has characters that cannot be stored')
    const requested = body.events_requested ?? rest?.requested
    if (JSON.stringify(requested ?? []).length > MOST_REQUESTED)
      throw new OAuthError('invalid_request', 'events_requested is too long')
    const description = body.description?.slice(0, MOST_DESCRIBED).toWellFormed() ?? rest?.description
    const configuration = {
      delivery:
        body.delivery === undefined && rest !== undefined
          ? rest.delivery
          : readDelivery(body.delivery, former?.delivery),
      ...(requested === undefined ? {} : { requested }),
      ...(description === undefined ? {} : { description }),
    }
    if (JSON.stringify(configuration).length > MOST_CONFIGURED)
      throw new OAuthError('invalid_request', 'the stream is too long')
    return configuration
  }

  async function change(clientId: string, body: Bag & Received, isWhole: boolean): Promise<Bag> {
    const event: NewEvent = {
      type: 'stream.changed',
      client: clientId,
      details: { changes: changesOf(body) },
    }
    const next = await streams.change(
      clientId,
      body.stream_id,
      (stream) => {
        const shown = toWire(stream)
        for (const name of OURS)
          if (body[name] !== undefined && !isDeepStrictEqual(body[name], shown[name]))
            throw new OAuthError('invalid_request', `${name} is not what it is`)
        const { delivery: _delivery, requested: _requested, description: _description, ...ours } = stream
        return { ...configurationOf(body, stream, isWhole ? undefined : stream), ...ours }
      },
      event,
    )
    // What waits goes where it is wanted now.
    await queue.wake(next)
    return toWire(next)
  }

  serve({
    method: 'POST',
    path: CONFIGURATION,
    scope: MANAGE,
    parameters: Type.Object(Optional),
    async handle(_parameters, { token, body }) {
      const configuration = configurationOf(body)
      await sets.prepare()
      return answer({ status: 201, body: toWire(await streams.create(token.clientId, configuration)) })
    },
  })
  serve({
    method: 'GET',
    path: CONFIGURATION,
    scope: READ,
    parameters: Type.Object({ stream_id: Type.Optional(StreamId) }),
    async handle({ stream_id: id }, { token }) {
      if (id !== undefined) return toWire(await streams.get(token.clientId, id))
      const stream = await streams.find(token.clientId)
      return answer({ body: stream === null ? [] : [toWire(stream)] })
    },
  })
  const Whole = Type.Object({ stream_id: StreamId, ...Optional })
  serve({
    method: 'PATCH',
    path: CONFIGURATION,
    scope: MANAGE,
    parameters: Whole,
    handle: async (_parameters, { token, body }) => change(token.clientId, body as Bag & Received, false),
  })
  serve({
    method: 'PUT',
    path: CONFIGURATION,
    scope: MANAGE,
    parameters: Whole,
    handle: async (_parameters, { token, body }) => change(token.clientId, body as Bag & Received, true),
  })
  serve({
    method: 'DELETE',
    path: CONFIGURATION,
    scope: MANAGE,
    parameters: Type.Object({ stream_id: StreamId }),
    async handle({ stream_id: id }, { token }) {
      if (!(await streams.delete(token.clientId, id))) throw notFound('stream')
      return answer({ status: 204 })
    },
  })
}

/** Judged by the schema before. */
interface Received {
  readonly stream_id: string
  readonly delivery?: Bag
  readonly events_requested?: readonly string[]
  readonly description?: string
}

/** Names alone. */
function changesOf(body: Bag): readonly string[] {
  return Object.keys(Optional).filter((name) => body[name] !== undefined)
}
