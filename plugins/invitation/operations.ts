/** Invitations in the interface of the administration. */
import { answer } from '../../src/doors/answer.ts'
import { OAuthError } from '../../src/protocol/errors.ts'
import { Type } from '../../src/protocol/schema.ts'
import { notFound } from '../admin-api/not-found.ts'
import type { AdminApi } from '../admin-api/operations.ts'
import type { Invitations } from './invite.ts'

export function addOperations(api: AdminApi, { mayInvite, invite, withdraw }: Invitations): void {
  const path = '/users/:sub/invitation'
  api.serve({
    method: 'POST',
    path,
    name: 'inviteUser',
    summary: 'Sends a user who has no password yet a mail with a link by which they choose one',
    scope: 'latchkey:users:write',
    body: Type.Object({}),
    answer: { status: 202 },
    async handle(_query, call) {
      const user = await api.findUserToChange(call)
      if (!(await mayInvite(user)))
        throw new OAuthError(
          'invalid_request',
          'the user has a password, no email address, or may not sign in; or no mail can be sent here',
        )
      await invite(user, '')
      return answer({ status: 202 })
    },
  })
  api.serve({
    method: 'DELETE',
    path,
    name: 'withdrawInvitation',
    summary: 'Makes the link of an invitation good for nothing',
    scope: 'latchkey:users:write',
    answer: { status: 204 },
    async handle(_query, call) {
      if (!(await withdraw(await api.findUserToChange(call)))) throw notFound('invitation of this user')
      return answer({ status: 204 })
    },
  })
}
