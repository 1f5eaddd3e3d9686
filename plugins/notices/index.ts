/**
 * Tells people by mail what happened to their account: each notice is stored with the event that it is of, and goes to the address that is
 * verified, or was, when that is what changed.
 */
import type { FastifyInstance } from 'fastify'
import fp from 'fastify-plugin'
import type { Static } from 'typebox'
import type { Enqueued } from '../../src/doors/outbound.ts'
import type { User } from '../../src/doors/user.ts'
import type { AuditEvent, EventType } from '../../src/events.ts'
import { kernelOf } from '../../src/http/kernel-of.ts'
import { OAuthError } from '../../src/protocol/errors.ts'
import { Type } from '../../src/protocol/schema.ts'
import { chosenBy } from '../../src/services/languages/languages.ts'
import { readerOf } from '../mail/reader-of.ts'
import { verifiedAddressOf } from '../mail/verified-address-of.ts'
import { tellNewNames } from './new-names.ts'
import { addressFor, formerAddressIn, Recipient } from './recipients.ts'
import { ADDRESS_CHANGED, farewellOf, letterOf, TOLD } from './words.ts'

const KIND = 'notice'
const Payload = Type.Object({
  type: Type.String(),
  user: Type.String(),
  /** Milliseconds since the epoch. */
  at: Type.Number(),
  ...Recipient.properties,
})
const FAREWELL = 'farewell'
const Farewell = Type.Object({
  to: Type.String(),
  username: Type.String(),
  at: Type.Number(),
  /** What they read, by preference, and their time zone. */
  tags: Type.Optional(Type.Array(Type.String())),
  zone: Type.Optional(Type.String()),
})
type Payload = Static<typeof Payload>

/** What is told of some events of a type alone. */
const ASKED_FOR: ReadonlySet<string> = new Set(['user.signed_in', 'user.upstream_linked'])

async function notices(fastify: FastifyInstance): Promise<void> {
  const { oauth, letters } = fastify
  const { accountDeletions, config } = kernelOf(fastify)
  const { NOTIFY_NEW_BROWSERS: browsers } = config

  /** As they are now: what was told of is a moment old. */
  async function userOf(id: string): Promise<User | null> {
    try {
      return await oauth.users.get(id)
    } catch (error) {
      if (error instanceof OAuthError && error.status < 500) return null
      throw error
    }
  }

  oauth.deliver({
    kind: KIND,
    payload: Payload,
    async deliver({ type, user: id, at, ...recipient }) {
      const user = await userOf(id)
      const to = user === null ? null : addressFor(recipient, user)
      if (user === null || to === null) return
      const letter = letterOf({
        type,
        whose: recipient.former === undefined ? 'present' : 'former',
        time: new Date(at),
        username: user.username,
        activity: fastify.hasPlugin('latchkey-account') ? `${oauth.issuer}/account/activity` : null,
      })
      if (letter !== null) await letters.send(to, letter, await readerOf(fastify, user))
    },
  })

  // What they were called, and where they hear of it, nobody knows any more then.
  oauth.deliver({
    kind: FAREWELL,
    payload: Farewell,
    deliver: async ({ to, username, at, tags = [], zone = null }) =>
      letters.send(to, farewellOf({ username, time: new Date(at) }), { tags, zone }),
  })
  accountDeletions.onFarewell((user) => {
    const to = verifiedAddressOf(user)
    if (to === null || !letters.isOn()) return []
    const { tags, zone } = chosenBy(user)
    const payload = { to, username: user.username, at: Date.now(), tags, ...(zone === null ? {} : { zone }) }
    return [{ kind: FAREWELL, payload }]
  })

  const notice = ({ type, user = '', at }: AuditEvent, more: Partial<Payload> = {}): Enqueued => ({
    kind: KIND,
    payload: { type, user, at, ...more },
  })

  // Those of plugins too, also where nobody brings them.
  const types = TOLD.filter((type) => !ASKED_FOR.has(type)) as EventType[]
  oauth.enqueueOn(types, (event) => (letters.isOn() ? [notice(event)] : []))
  // Whose account was made by it knows.
  oauth.enqueueOn('user.upstream_linked', (event) =>
    event.details.registered === true || !letters.isOn() ? [] : [notice(event)],
  )
  oauth.enqueueOn(ADDRESS_CHANGED, (event) => {
    const former = formerAddressIn(event)
    return former === null || !letters.isOn() ? [] : [notice(event, former), notice(event)]
  })
  tellNewNames(fastify, userOf)
  if (browsers)
    oauth.enqueueOn('user.signed_in', (event) =>
      event.details.newBrowser === true && letters.isOn() ? [notice(event)] : [],
    )
}

export default fp(notices, { name: 'latchkey-notices', dependencies: ['latchkey-oauth', 'latchkey-mail'] })
