/** `/admin/mail`: where mails go, and a test that goes the same way as all others: by the outbox, for which nobody waits. */
import { message, type Words } from '../../src/protocol/message.ts'
import type { FastifyInstance } from 'fastify'
import { isMailAddress, NO_MAIL_ADDRESS, parseSmtpUrl } from '../../src/protocol/mail-address.ts'
import { Type } from '../../src/protocol/schema.ts'
import { kernelOf } from '../../src/http/kernel-of.ts'
import type { PageCall } from '../pages/index.ts'
import type { FormTarget } from '../pages/models.ts'
import { DEV_MAIL } from './read-here.ts'
import { testLetter } from './test-letter.ts'

declare module '../pages/models.ts' {
  interface Pages {
    'admin-mail': AdminMail
  }
}

interface AdminMail {
  /** Where they go, as a sentence. */
  way: Words
  from: string | null
  /** Null where no mail can be sent. */
  form: FormTarget | null
  typed: string
  error: Words | null
  /** A test is on its way. */
  sent: boolean
  deliveriesUri: string
  /** Where developers read them; null elsewhere. */
  readUri: string | null
}

const PATH = '/mail'

export async function addAdminMail(fastify: FastifyInstance): Promise<void> {
  const { oauth, letters, pages } = fastify
  const { config } = kernelOf(fastify)
  await pages.add('admin-mail', new URL('../../templates/admin-mail.eta', import.meta.url))
  const { serve, target, uri, assertGenuine, administratorOf } = fastify.admin.addSection({
    text: message('Mail'),
    path: PATH,
  })

  const isKept = (): boolean => oauth.owners('mailTransport').size === 0
  function way(): Words {
    if (config.SMTP_URL !== undefined) {
      const { host, port, secure } = parseSmtpUrl(config.SMTP_URL)!
      return secure
        ? message('Mails go to {host}, port {port}, by TLS.', { host, port: String(port) })
        : message('Mails go to {host}, port {port}, by STARTTLS where it offers that.', {
            host,
            port: String(port),
          })
    }
    if (!isKept()) return message('Mails go the way that a plugin has for them.')
    return config.production
      ? message('No mail can be sent: set SMTP_URL and MAIL_FROM. Until then, what needs mail is off.')
      : message('There is no mail server: this development server keeps mails in memory.')
  }

  function show(call: PageCall, { typed = '', error = null, sent = false }: Partial<AdminMail>) {
    const model = {
      way: way(),
      from: config.MAIL_FROM ?? null,
      form: letters.isOn() ? target(call, PATH, '') : null,
      typed,
      error,
      sent,
      deliveriesUri: uri('/deliveries'),
      readUri: isKept() && !config.production ? `${oauth.config.basePath}${DEV_MAIL}` : null,
    }
    return call.reply.page('admin-mail', model, { status: error === null ? 200 : 400 })
  }

  serve({
    path: `/admin${PATH}`,
    query: Type.Object({ sent: Type.Optional(Type.String()) }),
    form: Type.Object({ address: Type.Optional(Type.String()) }),
    async show({ sent }, call) {
      const { claims } = administratorOf(call.request).user
      return show(call, { typed: (claims['email'] as string | undefined) ?? '', sent: sent !== undefined })
    },
    async submit({ address = '' }, call) {
      assertGenuine(call, PATH, '')
      const typed = address.trim()
      if (!isMailAddress(typed))
        return show(call, {
          typed,
          error: NO_MAIL_ADDRESS,
        })
      const letter = testLetter(oauth.issuer, fastify.pages.places.start())
      await letters.send(typed, letter, await fastify.language.reader(call, true))
      return call.reply.redirect(uri(PATH, { sent: 'yes' }), 303)
    },
  })
}
