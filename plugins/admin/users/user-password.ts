/**
 * One-time links by which users set their passwords: made at `/admin/user/password-link`, and shown once at
 * `/admin/user/link`, for the administrator to hand over.
 */
import type { FastifyReply } from 'fastify'
import { message } from '../../../src/protocol/message.ts'
import { Type } from '../../../src/protocol/schema.ts'
import { isUuid } from '../../../src/protocol/uuid.ts'
import { createDoneOnce, type SentForm } from '../../../src/services/done-once.ts'
import type { Query } from '../../../src/store/statement.ts'
import type { User } from '../../../src/services/users/user.ts'
import type { PageCall } from '../../pages/index.ts'
import type { OwnArea } from '../area.ts'
import { notShownAgain, SHOWN_FOR, type ShownOnce } from '../../pages/shown-once.ts'
import { getUser, showUser, signInFor } from './user-page.ts'
import { attempt } from './user-form.ts'

const MAKE = '/user/password-link'
const SHOW = '/user/link'
const NOBODY = message('This user may not sign in.')
const Text = Type.Optional(Type.String())

/** By the same form. */
class MadeBefore extends Error {}

export interface HandOver {
  /** Makes a link for the user and leads to the page that shows it; for a form that makes one user alone, which may come twice. */
  toNew(call: PageCall, user: User): Promise<FastifyReply>
  /** The same form again: leads to the link that the first one makes. */
  again(call: PageCall, user: User): Promise<FastifyReply>
}

export function addPasswordLinks(area: OwnArea, shownOnce: ShownOnce): HandOver {
  const { kernel, serve, uri, userUri } = area
  const made = createDoneOnce(kernel, 'admin-made-password-link', SHOWN_FOR)

  const toShown = ({ reply }: PageCall, handle: string): FastifyReply =>
    reply.redirect(uri(SHOW, { handle }), 303)
  /** The same entries may register another user, once that one is deleted. */
  const handleOf = ({ request, wire }: PageCall, { id: user }: User): string =>
    shownOnce.handleOf(area.administratorOf(request), { ...wire, user })

  async function again(call: PageCall, user: User): Promise<FastifyReply> {
    const handle = handleOf(call, user)
    await shownOnce.untilPut(handle)
    return toShown(call, handle)
  }

  /** `of` is the handle of a form that may come twice; `sent` tells it from others, where it makes no user. */
  async function handOver(
    call: PageCall,
    user: User,
    { of, sent }: { of?: string; sent?: SentForm } = {},
  ): Promise<FastifyReply> {
    const noted = async (query: Query): Promise<void> => {
      if (sent !== undefined && !(await made.note(query, sent, {}))) throw new MadeBefore()
    }
    const link = await attempt(async () => kernel.passwordLinks.make(user.id, noted))
    // Disabled meanwhile.
    if ('errors' in link) return showUser(area, call, user, { refused: NOBODY })
    const kept = JSON.stringify([link.address, link.expiresAt])
    return toShown(call, await shownOnce.put(user.id, kept, area.administratorOf(call.request), of))
  }

  serve({
    path: `/admin${MAKE}`,
    query: Type.Object({ id: Text }),
    form: Type.Object({ id: Text, new_id: Text }),
    show: async ({ id = '' }, { reply }) => reply.redirect(userUri(id), 303),
    async submit({ id = '', new_id: newId = '' }, call) {
      const { session } = area.assertGenuine(call, MAKE, id)
      const user = await getUser(area, id)
      const toSignIn = signInFor(area, call, id)
      if (toSignIn !== undefined) return toSignIn
      // Of a page of an earlier version, which has none.
      if (!isUuid(newId)) return handOver(call, user)
      const sent = { form: newId, browser: session.sid }
      try {
        return await handOver(call, user, { of: handleOf(call, user), sent })
      } catch (error) {
        if (error instanceof MadeBefore) return again(call, user)
        throw error
      }
    },
  })
  serve({
    path: `/admin${SHOW}`,
    query: Type.Object({ handle: Type.Optional(Type.String()) }),
    async show({ handle = '' }, { request, reply }) {
      const taken = await shownOnce.take(handle, area.administratorOf(request))
      if (taken === null) {
        const text = message(
          'A link is shown once. Make another if it was lost: the former is then no longer good.',
        )
        const primary = { href: uri('/users'), text: message('Go to the users') }
        return notShownAgain(reply, text, primary)
      }
      const [address, expiresAt] = JSON.parse(taken.secret) as [string, number]
      const { id, username } = await getUser(area, taken.subject)
      const expires = new Date(expiresAt)
      return reply.page('admin-user-link', { username, address, expires, userUri: userUri(id) })
    },
  })
  return { toNew: async (call, user) => handOver(call, user, { of: handleOf(call, user) }), again }
}
