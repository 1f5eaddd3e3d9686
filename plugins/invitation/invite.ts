/** Invites somebody and takes that back, whoever asks for it: a page of the administration, or a program. */
import type { FastifyInstance } from 'fastify'
import type { User } from '../../src/doors/user.ts'
import { kernelOf } from '../../src/http/kernel-of.ts'

export type Obstacle = 'no mail' | 'disabled' | 'no address' | 'password'

export interface Invitations {
  /** Why the user cannot be; null for who can. Whoever has a password was here, unless by an invitation that is good. */
  obstacleOf(user: User): Promise<Obstacle | null>
  /** By a mail in one of these languages, for who has chosen none. */
  invite(user: Pick<User, 'id'>, locales?: string): Promise<void>
  /** False where there is none that is good. */
  withdraw(user: Pick<User, 'id'>): Promise<boolean>
}

/** `kind` is that of the delivery which sends them. */
export function createInvitations(fastify: FastifyInstance, kind: string): Invitations {
  const { oauth, letters } = fastify
  const { passwordResets } = kernelOf(fastify)

  return {
    async obstacleOf({ id, disabled, claims, username }) {
      if (!letters.isOn()) return 'no mail'
      if (disabled) return 'disabled'
      if (typeof claims['email'] !== 'string') return 'no address'
      const isInvited = (await passwordResets.invitedUntil(id)) !== null
      return isInvited || !(await oauth.users.canSignInByPassword(username)) ? null : 'password'
    },
    async invite({ id: user }, locales) {
      await oauth.enqueue(kind, { user, ...(locales === undefined ? {} : { locales }) })
      oauth.audit.observe({ type: 'user.invited', user, details: {} })
    },
    async withdraw({ id: user }) {
      const isWithdrawn = await passwordResets.withdraw(user)
      if (isWithdrawn) oauth.audit.observe({ type: 'user.invitation_withdrawn', user, details: {} })
      return isWithdrawn
    },
  }
}
