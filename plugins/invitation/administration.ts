/** Invitations in the administration: with a new user, and on the page of one who has an address. */
import type { FastifyInstance, FastifyReply } from 'fastify'
import type { User } from '../../src/doors/user.ts'
import { kernelOf } from '../../src/http/kernel-of.ts'
import { lookAgain } from '../../src/http/look-again.ts'
import { OAuthError } from '../../src/protocol/errors.ts'
import { isMailAddress } from '../../src/protocol/mail-address.ts'
import { message, type Words } from '../../src/protocol/message.ts'
import { Type } from '../../src/protocol/schema.ts'
import type { PageCall } from '../pages/index.ts'
import type { FormTarget } from '../pages/models.ts'
import type { Invitations } from './invite.ts'

declare module '../pages/models.ts' {
  interface Pages {
    'admin-user-invitation': UserInvitation
  }
}

export interface UserInvitation {
  userId: string
  email: string
  /** When the one ends that they have; null for none. */
  until: Date | null
  send: FormTarget
  withdraw: FormTarget
  /** What was done; null for nothing. */
  done: Words | null
}

const PART = 'admin-user-invitation'
const SEND = '/user/invite'
/** Until the form that came first has invited them: a second. */
const LOOKS = 20
const WITHDRAW = '/user/withdraw-invitation'
const DONE: Readonly<Record<string, Words>> = {
  sent: message('The invitation is on its way.'),
  withdrawn: message('The invitation is withdrawn: its link is good for nothing any more.'),
}
const NOT_SENT = {
  title: message('No invitation was sent'),
  text: message('The user has a password by now, or no email address, or may not sign in.'),
}
const NO_ADDRESS = message(
  'This must be an email address, such as alice@example.com: the invitation goes there.',
)
const TAKEN = message('This is the confirmed address of another user.')

export async function addAdministration(fastify: FastifyInstance, invitations: Invitations): Promise<void> {
  const { admin, oauth, language, letters, pages } = fastify
  const { invitedUntil } = kernelOf(fastify).invitations
  await pages.add(PART, new URL('../../templates/admin-user-invitation.eta', import.meta.url))

  /** By a mail in the language that this administrator reads, for who has chosen none. */
  async function invite(user: User, call: PageCall): Promise<FastifyReply> {
    const { tags } = await language.reader(call, true)
    const obstacle = await invitations.invite(user, tags.join(' '))
    if (obstacle === null) return back(call, user.id, 'sent')
    const primary = { href: area.userUri(user.id), text: message('Go to the user') }
    return call.reply.page('page-message', { ...NOT_SENT, primary }, { status: 409 })
  }

  const area = admin.addUserPart({
    name: 'invitation',
    part: PART,
    async model(user, call): Promise<UserInvitation | null> {
      if ((await invitations.obstacleOf(user)) !== null) return null
      const { id: userId } = user
      const until = await invitedUntil(userId)
      const { invitation = '' } = call.wire
      const done =
        typeof invitation === 'string' && Object.hasOwn(DONE, invitation) ? DONE[invitation]! : null
      return {
        userId,
        email: String(user.claims['email']),
        until: until === null ? null : new Date(until),
        send: area.target(call, SEND, userId),
        withdraw: area.target(call, WITHDRAW, userId),
        done,
      }
    },
  })
  const back = ({ reply }: PageCall, userId: string, done: string): FastifyReply =>
    reply.redirect(`${area.userUri(userId)}&invitation=${done}#invitation`, 303)

  admin.addNewUserWay({
    id: 'invite',
    text: message('Register and invite'),
    isOn: letters.isOn,
    async refusalOf(email) {
      if (!isMailAddress(email)) return NO_ADDRESS
      return (await oauth.users.findByEmail(email)) === null ? undefined : TAKEN
    },
    submit: invite,
    async again(user, call) {
      const isInvited = async () => ((await invitedUntil(user.id)) === null ? undefined : true)
      return (await lookAgain(LOOKS, isInvited)) ? back(call, user.id, 'sent') : invite(user, call)
    },
  })

  /** A form on the page of a user that does one thing. */
  function serve(path: string, work: (user: User, call: PageCall) => Promise<FastifyReply>): void {
    const Id = Type.Object({ id: Type.Optional(Type.String()) })
    area.serve({
      path: `/admin${path}`,
      query: Id,
      form: Id,
      show: async ({ id = '' }, { reply }) => reply.redirect(area.userUri(id), 303),
      async submit({ id = '' }, call) {
        area.assertGenuine(call, path, id)
        const again = area.signInAgain(call, `${area.userUri(id)}&done=again`)
        if (again !== undefined) return again
        const user = await oauth.findUser(id)
        if (user === null) throw new OAuthError('not_found', 'no user has this id', { status: 404 })
        return work(user, call)
      },
    })
  }
  serve(SEND, invite)
  serve(WITHDRAW, async (user, call) => {
    await invitations.withdraw(user)
    return back(call, user.id, 'withdrawn')
  })
}
