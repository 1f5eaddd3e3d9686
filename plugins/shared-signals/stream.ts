/** An event stream (SSF 1.0 §8.1.1) as it is kept, and as its receiver sees it. */
import type { Bag } from '../../src/protocol/bag.ts'
import { EVENTS } from './events.ts'

/** RFC 8935. */
export const PUSH = 'urn:ietf:rfc:8935'
/** RFC 8936. */
export const POLL = 'urn:ietf:rfc:8936'
export type Method = typeof PUSH | typeof POLL

/** §8.1.2.1. */
export const STATUSES = ['enabled', 'paused', 'disabled'] as const
export type Status = (typeof STATUSES)[number]

/** Characters of the reason for a status. */
export const MOST_REASON = 1000

/** Seconds between two verification events that a receiver asks for. */
export const MIN_VERIFICATION_INTERVAL = 10

export interface Delivery {
  readonly method: Method
  /** Of a push stream. */
  readonly endpointUrl?: string
  /** The value of the header with which the receiver lets us in. */
  readonly authorizationHeader?: string
}

/** What the receiver says of it. */
export interface StreamConfiguration {
  readonly delivery: Delivery
  readonly requested?: readonly string[]
  readonly description?: string
}

export interface Stream extends StreamConfiguration {
  /** The `stream_id`, never used again. */
  readonly id: string
  /** The `client_id` of its receiver. */
  readonly client: string
  readonly status: Status
  readonly reason?: string
  /** When the receiver last asked for a verification event; milliseconds since the epoch. */
  readonly verifiedAt?: number
  /** When an operator last had one sent. */
  readonly checkedAt?: number
}

/** Those that the receiver asked for, of ours. */
export function deliveredOf({ requested = [] }: Pick<Stream, 'requested'>): readonly string[] {
  return EVENTS.filter((type) => requested.includes(type))
}

/** §8.1.1. The authorization header is a secret, and is not shown again. */
export function toWire(issuer: string, pollUrl: (id: string) => string, stream: Stream): Bag {
  const { id, client, delivery, requested, description } = stream
  return {
    stream_id: id,
    iss: issuer,
    aud: client,
    delivery: { method: delivery.method, endpoint_url: delivery.endpointUrl ?? pollUrl(id) },
    events_supported: EVENTS,
    ...(requested === undefined ? {} : { events_requested: requested }),
    events_delivered: deliveredOf(stream),
    min_verification_interval: MIN_VERIFICATION_INTERVAL,
    ...(description === undefined ? {} : { description }),
  }
}

/** §8.1.2.1. */
export function statusToWire({ id, status, reason }: Stream): Bag {
  return { stream_id: id, status, ...(reason === undefined ? {} : { reason }) }
}
