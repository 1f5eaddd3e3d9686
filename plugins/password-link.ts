/** `/set-password`: where whoever was given a one-time link sets their password. An administrator makes the links. */
import type { FastifyInstance } from 'fastify'
import fp from 'fastify-plugin'
import { kernelOf } from '../src/http/kernel-of.ts'
import { message } from '../src/protocol/message.ts'
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
}

export default fp(passwordLink, {
  name: 'latchkey-password-link',
  dependencies: ['latchkey-oauth', 'latchkey-browser', 'latchkey-pages'],
})
