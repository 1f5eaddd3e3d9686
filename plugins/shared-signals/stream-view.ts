/** A stream as its pages show it: in words, and without what may be a secret in an address. */
import type { FastifyInstance } from 'fastify'
import { message, type Words } from '../../src/protocol/message.ts'
import { faceOf } from '../pages/client-view.ts'
import { wordsOfFailure } from './failure-words.ts'
import { MOST_COUNTED } from './queue.ts'
import type { StreamState } from './overview.ts'
import { deliveredOf, type Status, type Stream } from './stream.ts'

export interface StreamView {
  id: string
  href: string
  clientId: string
  name: string
  status: Status
  statusText: Words
  /** Why its app hears nothing, whatever the status is, and what to do; null where its client may have a stream. */
  asleep: Words | null
  /** Whoever set the status gave it; null for none. */
  reason: string | null
  /** Where its events are pushed; null where its app asks for them. */
  origin: string | null
  /** The last part of the URI of each kind that is delivered. */
  events: readonly string[]
  waiting: number
  waitingText: Words
  /** Null where nothing waits. */
  waitingSince: Date | null
  /** Null where the last attempt did well. */
  failingSince: Date | null
  /** Why; null where that is not known. */
  failure: Words | null
}

const STATUS: Readonly<Record<Status, Words>> = {
  enabled: message('Enabled'),
  paused: message('Paused'),
  disabled: message('Disabled'),
}

export const ASLEEP = message(
  'Its client has neither ssf.read nor ssf.manage: the app hears nothing, and nothing is held for it. Give the client one of them, or remove the stream.',
)

export async function viewOf({ oauth }: FastifyInstance, state: StreamState, href: string): Promise<StreamView> {
  const { stream, isAsleep, waiting, waitingSince, failingSince, outcomes } = state
  const client = await oauth.findClient(stream.client)
  const failed = failingSince === null ? undefined : outcomes.find(({ done }) => !done)
  return {
    id: stream.id,
    href,
    clientId: stream.client,
    name: client === null ? stream.client : faceOf(client).name,
    status: stream.status,
    statusText: isAsleep ? message('Asleep') : STATUS[stream.status],
    asleep: isAsleep ? ASLEEP : null,
    reason: stream.reason ?? null,
    origin: originOf(stream),
    events: kindsOf(stream),
    waiting,
    waitingText:
      waiting >= MOST_COUNTED
        ? message('More than 500 events wait.')
        : message('{count, plural, =0 {No event waits.} one {One event waits.} other {# events wait.}}', { count: waiting }),
    waitingSince: dateOf(waitingSince),
    failingSince: dateOf(failingSince),
    failure: failed === undefined ? null : wordsOfFailure(failed.text),
  }
} // prettier-ignore

/** In the rest of an address there may be a secret. Null where its app asks for its events. */
export function originOf({ delivery }: Pick<Stream, 'delivery'>): string | null {
  return delivery.endpointUrl === undefined ? null : new URL(delivery.endpointUrl).origin
}

function kindsOf(stream: Pick<Stream, 'requested'>): readonly string[] {
  return deliveredOf(stream).map((type) => type.slice(type.lastIndexOf('/') + 1))
}

export function dateOf(instant: number | null): Date | null {
  return instant === null ? null : new Date(instant)
}
