/** Signing in by a code that comes by mail, where OIDC_MAIL_CODE is on: to people's verified address, and instead of a password. */
import type { FastifyInstance } from 'fastify'
import fp from 'fastify-plugin'
import { ConfigError } from '../../src/config.ts'
import { kernelOf } from '../../src/http/kernel-of.ts'
import { createMailCodes } from './codes.ts'
import { addSecurity } from './security.ts'
import { createSendCode } from './sending.ts'
import { addSignIn } from './sign-in.ts'

async function mailCode(fastify: FastifyInstance): Promise<void> {
  if (kernelOf(fastify).config.OIDC_MAIL_CODE === 'off') return
  if (!fastify.hasDecorator('letters'))
    throw new ConfigError(
      'OIDC_MAIL_CODE needs the plugin latchkey-mail: leave out neither, or set OIDC_MAIL_CODE=off.',
    )
  fastify.addHook('onReady', async () => {
    if (!fastify.letters.isOn())
      throw new ConfigError('OIDC_MAIL_CODE needs mails: set SMTP_URL and MAIL_FROM, or OIDC_MAIL_CODE=off.')
    await codes.assertReady()
  })
  const codes = createMailCodes(fastify.oauth)
  await addSignIn(fastify, codes, createSendCode(fastify, codes))
  if (fastify.hasPlugin('latchkey-account')) await addSecurity(fastify)
}

export default fp(mailCode, {
  name: 'latchkey-mail-code',
  dependencies: ['latchkey-oauth', 'latchkey-browser', 'latchkey-language', 'latchkey-pages'],
})
