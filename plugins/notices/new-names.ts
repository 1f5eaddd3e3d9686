/**
 * Tells people by mail that they are called otherwise, as they sign in by it. A delivery of its own: the version before would take it for a
 * changed address.
 */
import type { FastifyInstance } from 'fastify'
import type { Enqueued } from '../../src/doors/outbound.ts'
import type { User } from '../../src/doors/user.ts'
import type { AuditEvent } from '../../src/events.ts'
import { Type } from '../../src/protocol/schema.ts'
import { usernameKey } from '../../src/protocol/username.ts'
import { readerOf } from '../mail/reader-of.ts'
import { addressFor, formerAddressIn, Recipient } from './recipients.ts'
import { newNameOf } from './words.ts'

const KIND = 'new-name'
const Payload = Type.Object({
  user: Type.String(),
  was: Type.String(),
  is: Type.String(),
  /** Milliseconds since the epoch. */
  at: Type.Number(),
  ...Recipient.properties,
})

export function tellNewNames(fastify: FastifyInstance, find: (id: string) => Promise<User | null>): void {
  const { oauth, letters } = fastify

  oauth.deliver({
    kind: KIND,
    payload: Payload,
    async deliver({ user: id, was, is, at, ...recipient }) {
      const user = await find(id)
      const to = user === null ? null : addressFor(recipient, user)
      if (user === null || to === null) return
      await letters.send(to, newNameOf({ was, is, time: new Date(at) }), await readerOf(fastify, user))
    },
  })
  oauth.enqueueOn('user.changed', (event) => (letters.isOn() ? noticesOf(event) : []))
}

/** None where they sign in by it as before, and it is only shown otherwise. */
function noticesOf(event: AuditEvent<'user.changed'>): readonly Enqueued[] {
  const { user = '', at, details } = event
  const [was, is] = details.changes['username'] ?? []
  if (typeof was !== 'string' || typeof is !== 'string' || usernameKey(was) === usernameKey(is)) return []
  const former = formerAddressIn(event)
  const recipients: readonly Recipient[] = former === null ? [{}] : [former, {}]
  return recipients.map((one) => ({ kind: KIND, payload: { user, was, is, at, ...one } }))
}
