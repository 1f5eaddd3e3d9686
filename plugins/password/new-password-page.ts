/**
 * Pages of one-time links at which people set a new password. GET shows the form and spends nothing, as programs open links that stand in
 * messages; POST sets the password. Who makes the links, and what comes after them, is for the plugin that serves such a page.
 */
import { message, sentenceOf, type Words } from '../../src/protocol/message.ts'
import { kernelOf } from '../../src/http/kernel-of.ts'
import type { FastifyInstance, FastifyReply } from 'fastify'
import { OAuthError } from '../../src/protocol/errors.ts'
import { hashOf } from '../../src/protocol/handle.ts'
import { Type } from '../../src/protocol/schema.ts'
import type { AlsoUsed } from '../../src/services/users/password-links.ts'
import type { User } from '../../src/services/users/user.ts'
import { createDoneOnce } from '../../src/services/done-once.ts'
import { leadingTo } from '../pages/places.ts'
import type { PageCall } from '../pages/index.ts'
import type { NewPassword } from '../pages/models.ts'

export interface NewPasswordPage {
  /** Below the issuer; its links are this address with `token`. */
  readonly path: `/${string}`
  readonly ids: NewPassword['ids']
  /** Of tries with links that are not good; a kind of its own. */
  readonly throttle: string
  /** What the audit log calls the link. */
  readonly link: 'password' | 'reset' | 'invitation'
  /** What is said over the form and once it is done, for who may have had a password and sessions, by default. */
  readonly words?: { readonly lead: Words; readonly done: Words }
  /** What is said of one that is not good any more. */
  readonly spent: Words
  /** Where they ask for another one themselves; nowhere, by default. */
  readonly another?: { readonly text: Words; readonly href: string }
  /** Whether it is there at all; always, by default. */
  isOn?(): boolean
  /** Whose link it is; null where it is not good now. */
  find(token: string): Promise<User | null>
  /** Throws `access_denied` for a link that is not good, and `invalid_request` that names `password`. */
  setPassword(token: string, password: string, also: AlsoUsed): Promise<User>
  /** Answers once it is set, also who sends the form twice; by default with the page that says so, `said`. */
  done?(set: SetPassword, call: PageCall, said: () => FastifyReply): Promise<FastifyReply>
  /** Where the person came from, before the link is used up; `''` for nowhere. */
  backOf?(token: string): Promise<string>
}

export interface SetPassword {
  readonly user: User
  /** Where they came from; `''` for nowhere. */
  readonly back: string
  /** Names the link, which was used once. */
  readonly shown: string
}

/** What was done by a link. */
interface Done {
  readonly user: string
  readonly back: string
}

const Text = Type.Optional(Type.String())
const OF_A_NEW_ONE = {
  lead: message('This link works once. Setting your password signs you out wherever you are signed in.'),
  done: message('The former password is good no more. You have been signed out wherever you were signed in.'),
}

export async function serveNewPassword(fastify: FastifyInstance, page: NewPasswordPage): Promise<void> {
  const { oauth, browser, pages } = fastify
  const throttle = oauth.throttle(page.throttle)
  const used = createDoneOnce<Done>(kernelOf(fastify), `used-${page.link}-link`)
  const { basePath } = oauth.config
  const words = page.words ?? OF_A_NEW_ONE
  const purposeOf = (token: string): string => `${page.ids.form} ${token}`

  function show(call: PageCall, token: string, { username }: User, error: Words | null = null): FastifyReply {
    const model = {
      ids: page.ids,
      lead: words.lead,
      action: `${basePath}${page.path}`,
      csrfToken: browser.csrfToken(call, purposeOf(token)),
      token,
      username,
      error,
      passwordMinLength: kernelOf(fastify).config.OIDC_PASSWORD_MIN_LENGTH,
    }
    return call.reply.page('new-password', model, { status: error === null ? 200 : 400 })
  }

  const observeRefusal = (): void =>
    oauth.audit.observe({ type: 'user.link_refused', details: { link: page.link } })

  const showSpent = ({ reply }: PageCall): FastifyReply =>
    reply.page(
      'page-message',
      { title: message('This link is no longer good'), text: page.spent, primary: page.another ?? null },
      { status: 410 },
    )

  /** What this browser has just done by the link and with this password, which is the user's still; null for nothing. */
  async function findDone(call: PageCall, token: string, password: string): Promise<SetPassword | null> {
    const done = await used.find({ form: token, browser: browser.id(call) })
    const user = done === null ? null : await oauth.findUser(done.user)
    if (done === null || user === null || user.disabled) return null
    const isTheirs = await oauth.users.hasPassword(user.username, password)
    return isTheirs ? { user, back: done.back, shown: hashOf(token) } : null
  }

  /** What is wrong with the password, or null for a link that is no longer good. Throws 429. */
  async function setPassword(
    token: string,
    password: string,
    back: string,
    call: PageCall,
  ): Promise<SetPassword | { problem: Words } | null> {
    const attempt = await throttle.attempt(null, call.request.ip)
    try {
      const use = { form: token, browser: browser.id(call) }
      const user = await page.setPassword(token, password, async (query, id) =>
        used.note(query, use, { user: id, back }),
      )
      attempt.succeeded()
      return { user, back, shown: hashOf(token) }
    } catch (error) {
      if (!(error instanceof OAuthError) || error.status >= 500) throw error
      if (error.code !== 'access_denied') return { problem: sentenceOf(error.about?.reason ?? error.message) }
      const done = await findDone(call, token, password)
      if (done !== null) return done
      observeRefusal()
      await attempt.failed()
      return null
    } finally {
      attempt.abandoned()
    }
  }

  pages.serve({
    path: page.path,
    query: Type.Object({ token: Text, done: Text }),
    form: Type.Object({ token: Text, password: Text }),
    async show({ token = '', done }, call) {
      if (page.isOn?.() === false)
        throw new OAuthError('not_found', 'there are no such links here', { status: 404 })
      if (done !== undefined) {
        const told = { title: message('Your password is set'), text: words.done }
        const primary = leadingTo(pages.places.signIn(), { text: message('Sign in') })
        return call.reply.page('page-message', { ...told, primary })
      }
      const user = await page.find(token)
      if (user !== null) return show(call, token, user)
      observeRefusal()
      return showSpent(call)
    },
    async submit({ token = '', password = '' }, call) {
      browser.assertGenuine(call, call.wire, purposeOf(token))
      const user = await page.find(token)
      // Whoever has the link is taken for them.
      if (user !== null) call.request.actor = { kind: 'user', id: user.id }
      const back = (await page.backOf?.(token)) ?? ''
      const result = await setPassword(token, password, back, call)
      if (result === null) return showSpent(call)
      if ('problem' in result)
        return user === null ? showSpent(call) : show(call, token, user, result.problem)
      const said = () => call.reply.redirect(`${basePath}${page.path}?done=yes`, 303)
      return page.done === undefined ? said() : page.done(result, call, said)
    },
  })
}
