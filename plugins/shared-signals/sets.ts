/** Security Event Tokens (RFC 8417, SSF 1.0 §4): what they say, and their signature, by the key that is current when they are sent. */
import type { FastifyInstance } from 'fastify'
import type { Bag } from '../../src/protocol/bag.ts'
import { createUuid } from '../../src/protocol/uuid.ts'
import { AHEAD } from '../../src/store/security-events.ts'
import type { Queued } from './queue.ts'
import type { Stream } from './stream.ts'

/** The CAEP Interoperability Profile wants it of every event (§2.6); where no key of it can be, the other. */
const [USUAL, ELSE] = ['RS256', 'ES256'] as const

export interface Sets {
  /** The compact JWT. */
  compact(claims: Bag): Promise<string>
  /** Has a key published, so that a receiver finds it before the first event. */
  prepare(): Promise<void>
}

export function createSets({ oauth }: FastifyInstance): Sets {
  const algorithm = (): string => (oauth.keys.algorithms.includes(USUAL) ? USUAL : ELSE)
  return {
    compact: async (claims) => oauth.signStatement(claims, { typ: 'secevent+jwt', algorithm: algorithm() }),
    prepare: async () => oauth.keys.provide(algorithm()),
  }
}

export interface Said {
  /** The id of what it is of, and its place among all that is told of that: the same each time. */
  readonly cause: string
  readonly place: number
  /** RFC 9493. */
  readonly subject: Bag
  /** The URI of the event type. */
  readonly type: string
  readonly payload: Bag
  /** Milliseconds since the epoch: when it is said, and when it happened, where that may have been before. */
  readonly now: number
  readonly at?: number
  /** Whether it comes before all that waits, and also while the stream is not enabled. */
  readonly isAhead?: boolean
}

/** No `sub` and no `exp` (SSF 1.0 §4.1). */
export function queuedOf(stream: Stream, said: Said): Queued {
  const { cause, place, subject, type, payload, now, at, isAhead = false } = said
  const jti = `${isAhead ? AHEAD : ''}${cause}.${String(place).padStart(3, '0')}.${stream.id}`
  return {
    stream,
    claims: {
      jti,
      iat: Math.floor(now / 1000),
      // RFC 8417 §2.2. Events of RISC say it nowhere else.
      ...(at === undefined ? {} : { toe: Math.floor(at / 1000) }),
      aud: stream.client,
      txn: cause,
      sub_id: subject,
      events: { [type]: payload },
    },
  }
}

/** What is said of the stream itself. */
export function queuedOfStream(stream: Stream, said: Pick<Said, 'type' | 'payload' | 'isAhead'>): Queued {
  const now = Date.now()
  const subject = { format: 'opaque', id: stream.id }
  return queuedOf(stream, { ...said, cause: createUuid(now), place: 0, subject, now })
}
