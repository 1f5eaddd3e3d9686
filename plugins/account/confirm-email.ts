/** `/confirm-email`: where the link in a mail leads that confirms an address. GET spends nothing; the button's POST does. */
import type { FastifyInstance, FastifyReply } from 'fastify'
import { kernelOf } from '../../src/http/kernel-of.ts'
import { OAuthError } from '../../src/protocol/errors.ts'
import { message } from '../../src/protocol/message.ts'
import { Type } from '../../src/protocol/schema.ts'
import { createDoneOnce } from '../../src/services/done-once.ts'
import type { PageCall } from '../pages/index.ts'

export const CONFIRM_EMAIL = '/confirm-email'
const PATH = CONFIRM_EMAIL
const Text = Type.Optional(Type.String())
const SPENT = {
  title: message('This link is no longer good'),
  text: message(
    'It was used, is more than a day old, or was replaced by another. Ask for a new one at your account.',
  ),
}
const TAKEN = {
  title: message('This address is another account’s'),
  text: message('Somebody has confirmed it as theirs. Yours stays as it was.'),
}

export function addConfirmEmail(fastify: FastifyInstance): void {
  const { oauth, browser, pages } = fastify
  const { emailLinks } = kernelOf(fastify)
  const { basePath } = oauth.config
  const throttle = oauth.throttle('email-link')
  const used = createDoneOnce(kernelOf(fastify), 'used-email-link')
  const purposeOf = (token: string): string => `confirm-email ${token}`

  function refuse({ reply }: PageCall, words: typeof SPENT): FastifyReply {
    oauth.audit.observe({ type: 'user.link_refused', details: { link: 'email' } })
    const primary = { href: `${basePath}/account/email`, text: message('Go to your account') }
    return reply.page('page-message', { ...words, primary }, { status: 410 })
  }

  /** Null when it is done; else why not. Throws 429. */
  async function confirm(token: string, call: PageCall): Promise<typeof SPENT | null> {
    const attempt = await throttle.attempt(null, call.request.ip)
    const use = { form: token, browser: browser.id(call) }
    try {
      await emailLinks.confirm(token, async (query) => used.note(query, use, {}))
      attempt.succeeded()
      return null
    } catch (error) {
      if (!(error instanceof OAuthError) || error.status >= 500) throw error
      // By the same form, which came twice.
      if ((await used.find(use)) !== null) return null
      await attempt.failed()
      return error.code === 'access_denied' ? SPENT : TAKEN
    } finally {
      attempt.abandoned()
    }
  }

  pages.serve({
    path: PATH,
    query: Type.Object({ token: Text, done: Text }),
    form: Type.Object({ token: Text }),
    async show({ token = '', done }, call) {
      if (done !== undefined) {
        const title = message('Your address is confirmed')
        const text = message('We now reach you at it, and you can sign in with it instead of your user name.')
        const primary = { href: `${basePath}/account`, text: message('Go to your account') }
        return call.reply.page('page-message', { title, text, primary })
      }
      const found = await emailLinks.find(token)
      if (found === null) return refuse(call, SPENT)
      return call.reply.page('confirm', {
        action: `${basePath}${PATH}`,
        csrfToken: browser.csrfToken(call, purposeOf(token)),
        token,
        title: message('Confirm your email address'),
        text: message('{email} becomes the address of the account {username}.', {
          email: found.email,
          username: found.user.username,
        }),
        button: message('Confirm it'),
      })
    },
    async submit({ token = '' }, call) {
      browser.assertGenuine(call, call.wire, purposeOf(token))
      const found = await emailLinks.find(token)
      // Whoever reads its mails is taken for them.
      if (found !== null) call.request.actor = { kind: 'user', id: found.user.id }
      const problem = await confirm(token, call)
      if (problem !== null) return refuse(call, problem)
      return call.reply.redirect(`${basePath}${PATH}?done=yes`, 303)
    },
  })
}
