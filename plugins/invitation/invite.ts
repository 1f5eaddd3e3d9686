/** Invites somebody and takes that back, whoever asks for it: a page of the administration, or a program. */
import type { FastifyInstance } from 'fastify'
import type { User } from '../../src/doors/user.ts'
import { kernelOf } from '../../src/http/kernel-of.ts'

export interface Invitations {
  /** Whether the user can be: mails are on, they have an address, and no password yet or an invitation that is good. */
  mayInvite(user: User): Promise<boolean>
  /** By a mail in one of these languages, for who has chosen none. */
  invite(user: Pick<User, 'id'>, locales: string): Promise<void>
  /** False where there is none that is good. */
  withdraw(user: Pick<User, 'id'>): Promise<boolean>
}

/** `kind` is that of the delivery which sends them. */
export function createInvitations(fastify: FastifyInstance, kind: string): Invitations {
  const { oauth, letters } = fastify
  const { passwordResets } = kernelOf(fastify)

  return {
    async mayInvite({ id, disabled, claims, username }) {
      if (!letters.isOn() || disabled || typeof claims['email'] !== 'string') return false
      // Whoever has a password was here.
      const isInvited = (await passwordResets.invitedUntil(id)) !== null
      return isInvited || !(await oauth.users.canSignInByPassword(username))
    },
    async invite({ id: user }, locales) {
      await oauth.enqueue(kind, { user, locales })
      oauth.audit.observe({ type: 'user.invited', user, details: {} })
    },
    async withdraw({ id: user }) {
      const isWithdrawn = await passwordResets.withdraw(user)
      if (isWithdrawn) oauth.audit.observe({ type: 'user.invitation_withdrawn', user, details: {} })
      return isWithdrawn
    },
  }
}
