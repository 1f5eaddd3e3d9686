/**
 * `/set-password`: where whoever was given a one-time link sets their password. GET shows the form and spends nothing,
 * as programs open links that stand in messages; POST sets the password. An administrator makes the links.
 */
import type { FastifyInstance, FastifyReply } from 'fastify'
import fp from 'fastify-plugin'
import { OAuthError } from '../src/protocol/errors.ts'
import { Type } from '../src/protocol/schema.ts'
import { MIN_PASSWORD_LENGTH } from '../src/services/users/passwords.ts'
import type { User } from '../src/services/users/user.ts'
import type { PageCall } from './pages/index.ts'
import { kernelOf } from '../src/http/kernel-of.ts'
import { sentence } from './pages/words.ts'

const PATH = '/set-password'
const Text = Type.Optional(Type.String())

async function passwordLink(fastify: FastifyInstance): Promise<void> {
  const { oauth, browser, pages } = fastify
  const { passwordLinks } = kernelOf(fastify)
  const throttle = oauth.throttle('password-link')
  const { basePath } = oauth.config
  const purposeOf = (token: string): string => `set-password ${token}`

  await pages.add('password-link', new URL('../templates/password-link.eta', import.meta.url))

  function show(
    call: PageCall,
    token: string,
    { username }: User,
    error: string | null = null,
  ): FastifyReply {
    const model = {
      action: `${basePath}${PATH}`,
      csrfToken: browser.csrfToken(call, purposeOf(token)),
      token,
      username,
      error,
      passwordMinLength: MIN_PASSWORD_LENGTH,
    }
    return call.reply.page('password-link', model, { status: error === null ? 200 : 400 })
  }

  const observeRefusal = (): void =>
    oauth.audit.observe({ type: 'user.link_refused', details: { link: 'password' } })

  function showSpent({ reply }: PageCall): FastifyReply {
    const text =
      'It was used, is more than a day old, or was replaced by another. Ask for a new one where you got it.'
    return reply.page(
      'page-message',
      { title: 'This link is no longer good', text, primary: null },
      { status: 410 },
    )
  }

  /** Undefined when it is set; else what is wrong with it, or null for a link that is no longer good. Throws 429. */
  async function setPassword(
    token: string,
    password: string,
    address: string,
  ): Promise<string | null | undefined> {
    const attempt = await throttle.attempt(null, address)
    try {
      await passwordLinks.setPassword(token, password)
      attempt.succeeded()
      return undefined
    } catch (error) {
      if (!(error instanceof OAuthError) || error.status >= 500) throw error
      if (error.code !== 'access_denied') return sentence(error.message.replace(/^password /, ''))
      observeRefusal()
      await attempt.failed()
      return null
    } finally {
      attempt.abandoned()
    }
  }

  pages.serve({
    path: PATH,
    query: Type.Object({ token: Text, done: Text }),
    form: Type.Object({ token: Text, password: Text }),
    async show({ token = '', done }, call) {
      if (done !== undefined) {
        const text = 'It is the only one that is good now. Wherever you were signed in, you are signed out.'
        const primary = { href: `${basePath}/sign-in`, text: 'Sign in' }
        return call.reply.page('page-message', { title: 'Your password is set', text, primary })
      }
      const user = await passwordLinks.find(token)
      if (user !== null) return show(call, token, user)
      observeRefusal()
      return showSpent(call)
    },
    async submit({ token = '', password = '' }, call) {
      browser.assertGenuine(call, call.wire, purposeOf(token))
      const user = await passwordLinks.find(token)
      // Whoever has the link is taken for them.
      if (user !== null) call.request.actor = { kind: 'user', id: user.id }
      const problem = await setPassword(token, password, call.request.ip)
      if (problem === undefined) return call.reply.redirect(`${basePath}${PATH}?done=yes`, 303)
      return user === null || problem === null ? showSpent(call) : show(call, token, user, problem)
    },
  })
}

export default fp(passwordLink, {
  name: 'latchkey-password-link',
  dependencies: ['latchkey-oauth', 'latchkey-browser', 'latchkey-pages'],
})
