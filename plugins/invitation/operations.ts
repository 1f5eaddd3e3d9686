/** Invitations in the interface of the administration. */
import { OAuthError } from '../../src/protocol/errors.ts'
import { notFound } from '../programs/refusals.ts'
import type { AdminApi } from '../admin-api/operations.ts'
import type { Invitations, Obstacle } from './invite.ts'

const WORDS: Readonly<Record<Obstacle, string>> = {
  'no mail': 'no mail can be sent here: set SMTP_URL and MAIL_FROM',
  disabled: 'the user may not sign in',
  'no address': 'the user has no email address',
  password: 'the user has a password: a password link is for who has forgotten it',
}

export function addOperations(api: AdminApi, { invite, withdraw }: Invitations): void {
  const path = '/users/:sub/invitation'
  api.serve({
    method: 'POST',
    path,
    name: 'inviteUser',
    summary: 'Sends a user who has no password yet a mail with a link by which they choose one',
    scope: 'latchkey:users:write',
    answer: { status: 202 },
    async handle(_query, call) {
      const obstacle = await invite(await api.findUserToChange(call))
      if (obstacle !== null) throw new OAuthError('invalid_request', WORDS[obstacle])
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
    },
  })
}
