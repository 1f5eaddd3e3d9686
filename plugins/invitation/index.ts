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

export const KIND = 'invitation'
const PATH = '/invitation'

async function invitation(fastify: FastifyInstance): Promise<void> {
  if (!fastify.hasDecorator('letters')) return
  const { oauth, language, letters } = fastify
  const { passwordResets } = kernelOf(fastify)

  oauth.deliver({
    kind: KIND,
    // Those of earlier versions do not say which languages the administrator reads.
    payload: Type.Object({ user: Type.String(), locales: Type.Optional(Type.String()) }),
    async deliver({ user: id, locales }) {
      const user = await oauth.findUser(id)
      // Of who is gone, or may not sign in, there is nobody to be told.
      const made = user === null ? null : await passwordResets.invite(id)
      if (user === null || made === null) return
      const href = `${oauth.issuer}${PATH}?token=${made.token}`
      const letter = invitationLetter(user.username, oauth.issuer, href)
      await letters.send(made.email, letter, await language.readerOf(user, locales))
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
  const invitations = createInvitations(fastify, KIND)
  if (fastify.hasDecorator('admin')) await addAdministration(fastify, invitations)
  if (fastify.hasDecorator('adminApi')) addOperations(fastify.adminApi, invitations)
}

export default fp(invitation, {
  name: 'latchkey-invitation',
  dependencies: ['latchkey-oauth', 'latchkey-browser', 'latchkey-language', 'latchkey-pages'],
})
