/**
 * Mail: to the server that SMTP_URL names, or, in development without one, to pages where it is read. What is said in mails is for the
 * plugins that send them, by `fastify.letters`.
 */
import type { FastifyInstance } from 'fastify'
import fp from 'fastify-plugin'
import { kernelOf } from '../../src/http/kernel-of.ts'
import { addAdminMail } from './admin-mail.ts'
import { addDevMail } from './dev-mail.ts'
import { createLetters } from './letters.ts'
import { createSmtpTransport } from './smtp.ts'

async function mail(fastify: FastifyInstance): Promise<void> {
  const { oauth } = fastify
  const { SMTP_URL: url, MAIL_FROM: from, production } = kernelOf(fastify).config
  if (url !== undefined && from !== undefined)
    oauth.register('mailTransport', 'default', createSmtpTransport(url, from))
  fastify.decorate('letters', createLetters(fastify))
  if (url === undefined && !production && fastify.hasPlugin('latchkey-pages')) await addDevMail(fastify)
  if (fastify.hasDecorator('admin')) await addAdminMail(fastify)
  // A command sends what it is asked to, and says so itself.
  fastify.addHook('onListen', async () => {
    if (!oauth.mail.isOn())
      fastify.log.info('no mail can be sent, so what needs it is off: set SMTP_URL and MAIL_FROM')
  })
}

export default fp(mail, { name: 'latchkey-mail', dependencies: ['latchkey-oauth'] })
