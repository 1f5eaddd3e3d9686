/** Invites somebody and takes that back, whoever asks for it: a page of the administration, or a program. */
import type { FastifyInstance } from 'fastify'
import type { User } from '../../src/doors/user.ts'
import { kernelOf } from '../../src/http/kernel-of.ts'

export type Obstacle = 'no mail' | 'disabled' | 'no address' | 'password'

export interface Invitations {
  /** Why the user cannot be; null for who can. Whoever has a password was here, unless by an invitation that is good. */
  obstacleOf(user: User): Promise<Obstacle | null>
  /** By a mail in one of these languages, for who has chosen none. Why the user cannot be; null when the mail is on its way. */
  invite(user: Pick<User, 'id'>, locales?: string): Promise<Obstacle | null>
  /** False where there is none that is good. */
  withdraw(user: Pick<User, 'id'>): Promise<boolean>
}

/** `kind` is that of the delivery which sends them. */
export function createInvitations(fastify: FastifyInstance, kind: string): Invitations {
  const { oauth, letters } = fastify
  const { outbox, invitations } = kernelOf(fastify)

  async function obstacleOf({ id, disabled, claims, username }: User): Promise<Obstacle | null> {
    if (!letters.isOn()) return 'no mail'
    if (disabled) return 'disabled'
    if (typeof claims['email'] !== 'string') return 'no address'
    const isInvited = (await invitations.invitedUntil(id)) !== null
    return isInvited || !(await oauth.users.canSignInByPassword(username)) ? null : 'password'
  }

  return {
    obstacleOf,
    async invite({ id: user }, locales) {
      // Before they are judged: whoever gets a password meanwhile is invited no more.
      const replaces = await invitations.passwordMarkOf(user)
      if (replaces === null) return 'disabled'
      const obstacle = await obstacleOf(await oauth.users.get(user))
      if (obstacle !== null) return obstacle
      const more = locales === undefined ? {} : { locales }
      // Made here, and not where it is sent: what ends it from now on ends it, however long the mail takes.
      const made = await invitations.invite(user, {
        replaces,
        also: async (query, { token }) =>
          outbox.enqueueBy(query, [{ kind, payload: { user, token, ...more } }]),
      })
      if (made === null) return 'password'
      await outbox.announce()
      return null
    },
    withdraw: async ({ id }) => invitations.withdraw(id),
  }
}
