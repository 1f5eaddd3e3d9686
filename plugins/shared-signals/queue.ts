/**
 * Security events that wait for a receiver, whichever way it gets them: stored once, in the order in which things happened, until they are taken, a week
 * has passed, or too many younger ones wait.
 */
import type { FastifyInstance } from 'fastify'
import type { Enqueued } from '../../src/doors/outbound.ts'
import { kernelOf } from '../../src/http/kernel-of.ts'
import type { Bag } from '../../src/protocol/bag.ts'
import { firstUuidAt } from '../../src/protocol/uuid.ts'
import { recordChanges } from '../../src/store/changes.ts'
import {
  FIRST,
  LAST,
  statements,
  type ClaimedEventRow,
  type WaitingEventRow,
} from '../../src/store/security-events.ts'
import type { Query } from '../../src/store/statement.ts'
import type { Stream } from './stream.ts'

export interface Queued {
  readonly stream: Stream
  /** With the `jti`, without `iss`. */
  readonly claims: Bag & { readonly jti: string }
}

export interface Queue {
  /** Stores those that are not there yet, and has them told soon, where their stream is enabled then. */
  add(events: readonly Queued[]): Promise<void>
  /** Has all that waits told, as of a stream that is enabled again: at once, also where its receiver has failed before. */
  wake(stream: Stream): Promise<void>
  /** Has told what waits and is not put off. */
  goOn(stream: Stream): Promise<void>
  /** Has what was put off told at once as well: its receiver takes something again. It is put off for as long as before where that is not taken. */
  retry(stream: Pick<Stream, 'client' | 'id'>): Promise<void>
  /** Lets its receiver be tried at once, though it has failed before: somebody says that it is mended, or asks. */
  relieve(stream: Stream): Promise<void>
  /**
   * The first behind the id `after`, as `list` has them, that is not put off; `none` where none is left, and `busy` while another process is at one of this
   * stream.
   */
  claim(stream: Stream, after: string): Promise<ClaimedEventRow | 'none' | 'busy'>
  release(stream: string, jti: string): Promise<void>
  /** These are pushed again later, by themselves, while all others go on: in a second at first, and in an hour at last. */
  putOff(stream: Pick<Stream, 'client' | 'id'>, jtis: readonly string[]): Promise<void>
  /** Of a stream that is not enabled, only what is said of the stream itself. */
  list(stream: Stream, most: number): Promise<readonly WaitingEventRow[]>
  remove(stream: string, jtis: readonly string[]): Promise<void>
  /** All that happened before `until`, in milliseconds since the epoch. */
  clear(stream: string, until: number): Promise<void>
  /** Those of `streams`, all by push, for which something waits to be pushed, and no delivery does that any more: each is given up after a day. */
  stalled(streams: readonly Stream[]): Promise<readonly Stream[]>
  /** How many wait, by stream; 501 stands for more. */
  counts(streams: readonly string[]): Promise<ReadonlyMap<string, number>>
  /** Since when the first of them waits, by stream; milliseconds since the epoch. */
  oldest(streams: readonly string[]): Promise<ReadonlyMap<string, number>>
}

/** The kind of delivery by which one is pushed. */
export const KIND = 'security-events'
/** Seconds: longer than a request to outside may take. */
const LEASE = 20
/** Of one stream. */
const MOST = 10_000
/** Of what is said of the stream itself: the latest of it is what holds. */
const MOST_SAID = 100
export const MOST_COUNTED = 501

/** What the change feed names a stream by whose receiver asks for events. */
export function changeOf({ id }: Pick<Stream, 'id'>): string {
  return `stream ${id}`
}

export function createQueue(fastify: FastifyInstance): Queue {
  const { database, feed, outbox, recipients } = kernelOf(fastify)

  /** Whichever way the receiver gets them: the stream may have changed since it was read, and who pushes or is asked looks it up. */
  async function tell(query: Query, streams: readonly Pick<Stream, 'client' | 'id'>[]): Promise<void> {
    await outbox.enqueueBy(query, streams.map(pushOf))
    await recordChanges(query, 'delivery', streams.map(changeOf))
  }

  async function announce(streams: readonly Pick<Stream, 'client' | 'id'>[]): Promise<void> {
    await outbox.announce()
    await feed.announceAll('delivery', streams.map(changeOf))
  }

  const relieve: Queue['relieve'] = async ({ client }) => recipients.well(KIND, client)

  return {
    async add(events) {
      if (events.length === 0) return
      const streams = [...new Map(events.map(({ stream }) => [stream.id, stream])).values()]
      const told = new Set(events.filter(({ claims }) => claims.jti < FIRST).map(({ stream }) => stream.id))
      const dropped = await database.transaction(async (query) => {
        await query(statements.add, [
          events.map(({ stream }) => stream.id),
          events.map(({ claims }) => claims.jti),
          events.map(({ claims }) => JSON.stringify(claims)),
        ])
        const full: { client: string; count: number }[] = []
        for (const { id, client } of streams) {
          const [row] = await query(statements.trim, [id, MOST, FIRST, LAST])
          if (row!.removed > 0) full.push({ client, count: row!.removed })
          if (told.has(id)) await query(statements.trim, [id, MOST_SAID, '', FIRST])
        }
        await tell(query, streams)
        return full
      })
      await announce(streams)
      for (const { client, count } of dropped)
        fastify.log.warn(
          { client, count },
          'too many security events wait for a receiver: the oldest are dropped',
        )
    },
    relieve,
    async wake(stream) {
      await relieve(stream)
      await database.transaction(async (query) => {
        await query(statements.anew, [stream.id])
        await tell(query, [stream])
      })
      await announce([stream])
    },
    async retry(stream) {
      await database.transaction(async (query) => {
        await query(statements.retry, [stream.id])
        await tell(query, [stream])
      })
      await announce([stream])
    },
    async goOn(stream) {
      await database.transaction(async (query) => tell(query, [stream]))
      await announce([stream])
    },
    async claim(stream, after) {
      const [row] = await database.transaction(async (query) =>
        query(statements.claim, [stream.id, after, LEASE, endOf(stream)]),
      )
      if (row === undefined) return 'none'
      return row.jti === null ? 'busy' : row
    },
    async release(stream, jti) {
      await database.query(statements.release, [stream, jti])
    },
    async putOff(stream, jtis) {
      await database.transaction(async (query) => {
        const [row] = await query(statements.putOff, [stream.id, jtis])
        const dueIn = row?.dueIn ?? null
        if (dueIn !== null) await outbox.enqueueBy(query, [pushOf(stream)], dueIn)
      })
      await outbox.announce()
    },
    list: async (stream, most) => database.query(statements.list, [stream.id, most, endOf(stream)]),
    async remove(stream, jtis) {
      if (jtis.length > 0) await database.query(statements.remove, [stream, jtis])
    },
    async clear(stream, until) {
      await database.query(statements.clear, [stream, firstUuidAt(until)])
    },
    async stalled(streams) {
      const columns = [streams.map(({ id }) => id), streams.map(endOf), streams.map(({ client }) => client)]
      const rows = await database.query(statements.stalled, [...columns, KIND])
      const found = new Set(rows.map(({ stream }) => stream))
      return streams.filter(({ id }) => found.has(id))
    },
    async counts(streams) {
      const rows = await database.query(statements.counts, [streams, MOST_COUNTED])
      return new Map(rows.map(({ stream, count }) => [stream, count]))
    },
    async oldest(streams) {
      const rows = await database.query(statements.oldest, [streams])
      return new Map(rows.map(({ stream, since }) => [stream, since.getTime()]))
    },
  }
}

/** Before which ids its events are told. */
function endOf({ status }: Stream): string {
  return status === 'enabled' ? LAST : FIRST
}

function pushOf({ client, id }: Pick<Stream, 'client' | 'id'>): Enqueued {
  return { kind: KIND, recipient: client, payload: { client, stream: id } }
}
