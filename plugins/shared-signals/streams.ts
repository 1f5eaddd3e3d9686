/** The event streams: one for each client that is a receiver, sealed at rest, and gone with its client. */
import type { FastifyInstance } from 'fastify'
import type { PluginRecord } from '../../src/doors/plugin-records.ts'
import type { NewEvent } from '../../src/events.ts'
import { kernelOf } from '../../src/http/kernel-of.ts'
import { OAuthError } from '../../src/protocol/errors.ts'
import { isStorable } from '../../src/protocol/json.ts'
import { hashOf } from '../../src/protocol/handle.ts'
import { randomText } from '../../src/protocol/random.ts'
import { isOfClient } from '../../src/services/clients/same-client.ts'
import { UnreadableError } from '../../src/services/keys/secret-box.ts'
import { statements as recordStatements } from '../../src/store/plugin-records.ts'
import { statements } from '../../src/store/security-events.ts'
import { busy, notFound } from '../programs/refusals.ts'
import { SCOPES } from './serving.ts'
import type { Stream, StreamConfiguration } from './stream.ts'

/** With when it was made, in milliseconds since the epoch: a client that made another one is known by the same name. */
export interface KeptStream {
  readonly stream: Stream
  readonly createdAt: number
  /** Its client has none of the scopes any more: it hears nothing, and nothing is held for it. */
  readonly isAsleep: boolean
}

export interface Streams {
  /** Null where this client has none that can be read; what a former client of the name had is not its. */
  find(clientId: string): Promise<Stream | null>
  /** Throws `not_found` where it has none of this id. */
  get(clientId: string, id: string): Promise<Stream>
  /** Throws 409 where it has one. */
  create(clientId: string, configuration: StreamConfiguration): Promise<Stream>
  /** `judge` makes the next one of what there is, and may throw; it may be asked again. Throws as `get`. */
  change(clientId: string, id: string, judge: (stream: Stream) => Stream, event?: NewEvent): Promise<Stream>
  /** With all that waits for it. False where it has none of this id. */
  delete(clientId: string, id: string): Promise<boolean>
  /** Whatever is kept under this name, also where nobody can read it. False where nothing is. */
  remove(clientId: string): Promise<boolean>
  /** Those of clients that are there and may have one, in no order that says anything. */
  list(): Promise<readonly Stream[]>
  /** For operators, by the `client_id`: also those that sleep. */
  listKept(): Promise<readonly KeptStream[]>
  /** By its own id. Null where none of those has it. */
  findKept(id: string): Promise<KeptStream | null>
  /** That of this client, also where it sleeps. Null where it has none that can be read. */
  findKeptOf(clientId: string): Promise<KeptStream | null>
  /** As `delete`, also where it sleeps. */
  deleteKept(stream: Stream): Promise<boolean>
  /**
   * What is left of the stream of a client that is gone, or of one that cannot be read any more. `deletedAt`, by the database's clock in milliseconds since
   * the epoch, is when a client of the name was deleted: this process may not know yet.
   */
  forget(clientId: string, deletedAt?: number): Promise<void>
}

/** Of the records; the key of each is the id of its stream. */
export const KIND = 'event-stream'
/** On the whole server. */
const MOST = 1000
const PAGE = 100
const TRIES = 8

export function createStreams(fastify: FastifyInstance): Streams {
  const { oauth } = fastify
  const { audit, database } = kernelOf(fastify)
  const records = oauth.records<Stream>(KIND, { sealed: true, most: MOST, key: ({ id }) => id })

  /** By the id of the record. Undefined where no SECRET_KEY fits it any more. */
  const readable = async (id: string) => orUnreadable(records.get(id))

  async function orUnreadable(
    reading: Promise<PluginRecord<Stream> | null>,
  ): Promise<PluginRecord<Stream> | null | undefined> {
    try {
      return await reading
    } catch (error) {
      if (!(error instanceof UnreadableError)) throw error
      fastify.log.warn(
        { err: error },
        'a stream cannot be read: its app hears nothing until it makes another one',
      )
      return undefined
    }
  }

  async function read(clientId: string): Promise<PluginRecord<Stream> | null> {
    const record = await readable(hashOf(clientId))
    return record != null && (await isAwake(record)) ? record : null
  }

  /** Null for what a former client of the name had. */
  async function keptOf({ value: stream, createdAt }: PluginRecord<Stream>): Promise<KeptStream | null> {
    const client = await oauth.findClient(stream.client)
    if (client === null || !isOfClient(stream.client, createdAt, client)) return null
    return { stream, createdAt, isAsleep: !client.scope.some((name) => Object.hasOwn(SCOPES, name)) }
  }

  const isAwake = async (record: PluginRecord<Stream>): Promise<boolean> =>
    (await keptOf(record))?.isAsleep === false

  /** By its own id, since the client may have another one by now. */
  async function remove(id: string, event?: NewEvent): Promise<boolean> {
    return audit.transaction(async (query, note) => {
      const [gone] = await query(recordStatements.deleteFound, [KIND, id])
      if (gone === undefined) return false
      await query(statements.clear, [id, null])
      await query(statements.clearSubjects, [id])
      if (event !== undefined) note(event)
      return true
    })
  }

  async function forget(clientId: string, deletedAt = -Infinity): Promise<void> {
    const record = await readable(hashOf(clientId))
    if (record === null) return
    if (record === undefined) await removeOf(clientId)
    else if (record.createdAt <= deletedAt || !(await isAwake(record))) await remove(record.value.id)
  }

  async function removeOf(clientId: string, event?: NewEvent): Promise<boolean> {
    const [row] = await database.query(recordStatements.get, [KIND, hashOf(clientId)])
    return row?.key != null && remove(row.key, event)
  }

  /** Behind the record `after`; with the id of its last one where more may follow. */
  async function page(after: string): Promise<{ last: string | undefined; found: PluginRecord<Stream>[] }> {
    try {
      const found = await records.list({ after })
      return { last: found[PAGE - 1]?.id, found }
    } catch (error) {
      if (!(error instanceof UnreadableError)) throw error
    }
    // One by one: whose stream cannot be read keeps nobody else from hearing.
    const rows = await database.query(recordStatements.list, [KIND, after, PAGE])
    const found = await Promise.all(rows.map(async ({ id }) => readable(id)))
    return { last: rows[PAGE - 1]?.id, found: found.filter((record) => record != null) }
  }

  async function listKept(): Promise<readonly KeptStream[]> {
    const all: PluginRecord<Stream>[] = []
    for (let after: string | undefined = ''; after !== undefined;) {
      const { last, found } = await page(after)
      all.push(...found)
      after = last
    }
    const kept = await Promise.all(all.map(keptOf))
    return kept.filter((one) => one !== null)
  }

  async function get(clientId: string, id: string): Promise<PluginRecord<Stream>> {
    const record = await read(clientId)
    if (record === null || record.value.id !== id) throw notFound('stream')
    return record
  }

  return {
    find: async (clientId) => (await read(clientId))?.value ?? null,
    get: async (clientId, id) => (await get(clientId, id)).value,
    async create(clientId, configuration) {
      await forget(clientId)
      const stream: Stream = {
        ...configuration,
        id: randomText(18, 'base64url'),
        client: clientId,
        status: 'enabled',
      }
      const { method } = configuration.delivery
      const event: NewEvent = { type: 'stream.created', client: clientId, details: { method } }
      if (!(await records.put(hashOf(clientId), stream, event)))
        throw new OAuthError('conflict', 'there is a stream of this client already: change that one', {
          status: 409,
        })
      return stream
    },
    async change(clientId, id, judge, event) {
      for (let tried = 0; tried < TRIES; tried++) {
        const record = await get(clientId, id)
        const next = judge(record.value)
        if (await records.replace(record, next, event)) return next
      }
      throw busy('the stream')
    },
    async delete(clientId, id) {
      const record = await read(clientId)
      if (record?.value.id !== id) return false
      return remove(id, deletionOf(clientId))
    },
    remove: async (clientId) => removeOf(clientId, deletionOf(clientId)),
    list: async () => (await listKept()).filter(({ isAsleep }) => !isAsleep).map(({ stream }) => stream),
    async listKept() {
      const all = await listKept()
      return all.toSorted((one, other) => (one.stream.client < other.stream.client ? -1 : 1))
    },
    async findKept(id) {
      const record = isStorable(id) ? await orUnreadable(records.find(id)) : null
      return record == null ? null : keptOf(record)
    },
    async findKeptOf(clientId) {
      const record = await readable(hashOf(clientId))
      return record == null ? null : keptOf(record)
    },
    deleteKept: async ({ id, client }) => remove(id, deletionOf(client)),
    forget,
  }
}

function deletionOf(client: string): NewEvent {
  return { type: 'stream.deleted', client, details: {} }
}
