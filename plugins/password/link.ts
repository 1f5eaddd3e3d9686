/** `/set-password`: where whoever was given a one-time link sets their password. An administrator makes the links. */
import type { FastifyInstance } from 'fastify'
import fp from 'fastify-plugin'
import { kernelOf } from '../../src/http/kernel-of.ts'
import { message } from '../../src/protocol/message.ts'
import { Type } from '../../src/protocol/schema.ts'
import type { PasswordLinks } from '../../src/services/users/password-links.ts'
import { Instant, instant } from '../admin-api/instants.ts'
import type { AdminApi } from '../admin-api/operations.ts'
import { serveNewPassword } from './new-password-page.ts'

async function passwordLink(fastify: FastifyInstance): Promise<void> {
  const { passwordLinks } = kernelOf(fastify)
  await serveNewPassword(fastify, {
    path: '/set-password',
    ids: { form: 'set-password', button: null },
    throttle: 'password-link',
    link: 'password',
    spent: message(
      'It was used, is more than a day old, or was replaced by another. Ask for a new one where you got it.',
    ),
    find: passwordLinks.find,
    setPassword: passwordLinks.setPassword,
  })
  if (fastify.hasDecorator('adminApi')) addOperation(fastify.adminApi, passwordLinks)
}

function addOperation(api: AdminApi, links: Pick<PasswordLinks, 'make'>): void {
  api.serve({
    method: 'POST',
    path: '/users/:sub/password-link',
    name: 'makePasswordLink',
    summary:
      'A link by which a user sets their password, once, within a day; the one before it is good for nothing',
    scope: 'latchkey:users:write',
    answer: {
      status: 201,
      schema: Type.Object(
        {
          uri: Type.String({ description: 'In this answer alone. Whoever has it is taken for the user.' }),
          expires_at: Instant(),
        },
        { title: 'PasswordLink' },
      ),
    },
    async handle(_query, call) {
      const { address: uri, expiresAt } = await links.make((await api.findUserToChange(call)).id)
      // Who has become an administrator meanwhile is given away to nobody.
      await api.findUserToChange(call)
      return { uri, expires_at: instant(expiresAt) }
    },
  })
}

export default fp(passwordLink, {
  name: 'latchkey-password-link',
  dependencies: ['latchkey-oauth', 'latchkey-browser', 'latchkey-pages'],
})
