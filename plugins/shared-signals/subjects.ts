/**
 * Subjects of a stream (SSF 1.0 §8.1.3): all people who use its app, but for those that it removed. What is answered says nothing of whether
 * somebody is known here.
 */
import type { FastifyInstance } from 'fastify'
import { answer } from '../../src/doors/answer.ts'
import type { Client } from '../../src/doors/client.ts'
import { kernelOf } from '../../src/http/kernel-of.ts'
import type { Bag } from '../../src/protocol/bag.ts'
import { OAuthError } from '../../src/protocol/errors.ts'
import { isObject, isStorable } from '../../src/protocol/json.ts'
import { Type } from '../../src/protocol/schema.ts'
import { statements } from '../../src/store/security-events.ts'
import { notFound } from '../programs/refusals.ts'
import { MANAGE, StreamId, type ServeSignals } from './serving.ts'
import type { Stream } from './stream.ts'
import { KIND, type Streams } from './streams.ts'

export interface Subjects {
  /** The streams of those whose subject was removed from them. */
  removedFrom(pairs: readonly { stream: string; subject: string }[]): Promise<ReadonlySet<string>>
  forget(stream: string, subject: string): Promise<void>
  /** Those that were removed from it, behind the subject `after`. */
  list(stream: string, options: { after: string; limit: number }): Promise<readonly string[]>
  /** Of those, whom a user name, a verified email address or a `sub` means. */
  search(stream: Pick<Stream, 'client' | 'id'>, text: string): Promise<readonly string[]>
  /** How many were removed from it; 501 stands for more. */
  count(stream: string): Promise<number>
}

export const ADD = '/subjects/add'
export const REMOVE = '/subjects/remove'
/** Of one stream. */
const MOST = 100_000
export const MOST_COUNTED = 501

export function createSubjects(fastify: FastifyInstance): Subjects {
  const { oauth } = fastify
  const { database } = kernelOf(fastify)

  const removedFrom: Subjects['removedFrom'] = async (pairs) => {
    if (pairs.length === 0) return new Set()
    const values = [pairs.map(({ stream }) => stream), pairs.map(({ subject }) => subject)]
    return new Set((await database.query(statements.removedOf, values)).map(({ stream }) => stream))
  }

  return {
    removedFrom,
    async list(stream, { after, limit }) {
      const rows = await database.query(statements.listSubjects, [stream, after, limit])
      return rows.map(({ subject }) => subject)
    },
    async search({ client: clientId, id: stream }, text) {
      if (!isStorable(text)) return []
      const client = await oauth.findClient(clientId)
      const user = (await oauth.users.find(text)) ?? (await oauth.users.findByEmail(text))
      const meant = new Set([
        text,
        ...(user === null || client === null ? [] : [oauth.subjectOf(user.id, client)]),
      ])
      const found: string[] = []
      for (const subject of meant)
        if ((await removedFrom([{ stream, subject }])).size > 0) found.push(subject)
      return found
    },
    async count(stream) {
      const [row] = await database.query(statements.countSubjects, [stream, MOST_COUNTED])
      return row!.count
    },
    async forget(stream, subject) {
      await database.query(statements.addSubject, [stream, subject])
    },
  }
}

export function addSubjectEndpoints(fastify: FastifyInstance, serve: ServeSignals, streams: Streams): void {
  const { oauth } = fastify
  const { database } = kernelOf(fastify)
  const Subject = Type.Object({ format: Type.String({ minLength: 1, maxLength: 100 }) })

  /** The `sub` of this client; null for whom nothing is known, and for what is no person. */
  async function subOf(subject: Bag, client: Client): Promise<string | null> {
    const { format, iss, sub, email, user } = subject
    if (format === 'complex')
      return isObject(user) && user['format'] !== 'complex' ? subOf(user, client) : null
    if (format === 'iss_sub' && typeof sub === 'string' && sub.length <= 255)
      return iss === oauth.issuer ? sub : null
    if (format !== 'email' || typeof email !== 'string' || email.length > 320) return null
    const found = await oauth.users.findByEmail(email)
    return found === null ? null : oauth.subjectOf(found.id, client)
  }

  async function subjectOf(streamId: string, clientId: string, subject: Bag): Promise<string | null> {
    await streams.get(clientId, streamId)
    const client = await oauth.findClient(clientId)
    const sub = client === null ? null : await subOf(subject, client)
    return sub?.includes('\0') === true ? null : sub
  }

  serve({
    method: 'POST',
    path: ADD,
    scope: MANAGE,
    parameters: Type.Object({
      stream_id: StreamId,
      subject: Subject,
      verified: Type.Optional(Type.Boolean()),
    }),
    async handle({ stream_id: id, subject }, { token }) {
      const sub = await subjectOf(id, token.clientId, subject)
      if (sub !== null) await database.query(statements.addSubject, [id, sub])
      return answer({ status: 200 })
    },
  })
  serve({
    method: 'POST',
    path: REMOVE,
    scope: MANAGE,
    parameters: Type.Object({ stream_id: StreamId, subject: Subject }),
    async handle({ stream_id: id, subject }, { token }) {
      // What stands beside its user narrows it (§8.1.3.1), as to one session: of the rest the receiver goes on to hear, so of all.
      const isNarrow = subject.format === 'complex' && Object.keys(subject).length > 2
      const found = await subjectOf(id, token.clientId, subject)
      const sub = isNarrow ? null : found
      if (sub === null) return answer({ status: 204 })
      const [row] = await database.query(statements.removeSubject, [id, sub, MOST, KIND])
      if (row === undefined) throw notFound('stream')
      if (row.full) throw new OAuthError('invalid_request', `no more than ${MOST} subjects can be removed`)
      return answer({ status: 204 })
    },
  })
}
