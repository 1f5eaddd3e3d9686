/**
 * Invitations: an administrator registers somebody, and a mail has a link by which they choose their password at `/invitation`. That the
 * mail was read confirms the address.
 */
import type { FastifyInstance } from 'fastify'
import fp from 'fastify-plugin'
import { kernelOf } from '../../src/http/kernel-of.ts'
import { message } from '../../src/protocol/message.ts'
import { Type } from '../../src/protocol/schema.ts'
import { serveNewPassword } from '../password/new-password-page.ts'
import { addAdministration } from './administration.ts'
import { createInvitations } from './invite.ts'
import { invitationLetter } from './letter.ts'
import { addOperations } from './operations.ts'

const KIND = 'invitation'
const PATH = '/invitation'

async function invitation(fastify: FastifyInstance): Promise<void> {
  if (!fastify.hasDecorator('letters')) return
  const { oauth, language, letters } = fastify
  const { passwordResets } = kernelOf(fastify)

  const invitations = createInvitations(fastify, KIND)
  oauth.deliver({
    kind: KIND,
    // Those of earlier versions have no token, and do not say which languages the administrator reads.
    payload: Type.Object({
      user: Type.String(),
      token: Type.Optional(Type.String()),
      locales: Type.Optional(Type.String()),
    }),
    async deliver({ user: id, token, locales }) {
      if (token === undefined) {
        await invitations.invite({ id }, locales)
        return
      }
      const found = await passwordResets.find(token)
      // It has ended while it waited.
      if (found === null) return
      const { user } = found
      const letter = invitationLetter(user.username, oauth.issuer, `${oauth.issuer}${PATH}?token=${token}`)
      const reader = await language.readerOf(user, locales)
      await letters.send(String(user.claims['email']), letter, reader)
    },
  })

  await serveNewPassword(fastify, {
    path: PATH,
    ids: { form: 'accept-invitation', button: 'set-password' },
    throttle: KIND,
    link: KIND,
    words: {
      lead: message('Choose the password of your new account. This link works once.'),
      done: message('You can sign in with it now.'),
    },
    spent: message(
      'It was used, is more than seven days old, was withdrawn, or another account has its address by now. Ask for another one where you got it.',
    ),
    isOn: letters.isOn,
    find: async (token) => (await passwordResets.find(token))?.user ?? null,
    setPassword: passwordResets.setPassword,
  })
  if (fastify.hasDecorator('admin')) await addAdministration(fastify, invitations)
  if (fastify.hasDecorator('adminApi')) addOperations(fastify.adminApi, invitations)
}

export default fp(invitation, {
  name: 'latchkey-invitation',
  dependencies: ['latchkey-oauth', 'latchkey-browser', 'latchkey-language', 'latchkey-pages'],
})
