/**
 * `/sign-up/confirm`: where the link in the mail leads. GET spends nothing; the button's POST makes the account. In the browser in which it was
 * asked for, whose password it is, the person is signed in; in another one they choose the password, and sign in by it.
 */
import type { FastifyInstance, FastifyReply } from 'fastify'
import { kernelOf } from '../../src/http/kernel-of.ts'
import { waitFor } from '../../src/http/wait.ts'
import { OAuthError } from '../../src/protocol/errors.ts'
import { hashOf } from '../../src/protocol/handle.ts'
import { message, type Words } from '../../src/protocol/message.ts'
import { Type } from '../../src/protocol/schema.ts'
import type { AskedSignUp, SignUp, SignUps } from '../../src/services/users/sign-ups.ts'
import { shownOnce } from '../browser/shown-once.ts'
import type { PageCall } from '../pages/index.ts'
import type { FormTarget } from '../pages/models.ts'
import { PASSWORD_ACR, PASSWORD_AMR } from '../password/check.ts'
import { createSignUpForm, PATH, problemOf, type Problems } from './form.ts'
import { leadingTo } from '../pages/places.ts'
import { createBrowserMarks } from './browser-mark.ts'

declare module '../pages/models.ts' {
  interface Pages {
    'sign-up-confirm': Confirmation
  }
}

interface Confirmation extends FormTarget {
  token: string
  username: string
  email: string
  /** Another name is to be chosen, since somebody has this one by now. */
  asksForName: boolean
  /** It is another browser than that in which the account was asked for. */
  asksForPassword: boolean
  problems: Problems
  passwordMinLength: number
}

export const CONFIRM = '/sign-up/confirm'
/** Milliseconds: a double click leads where the first one does. */
const TWICE_WITHIN = 60_000
const Text = Type.Optional(Type.String())

type MadeSignUp = Extract<SignUp, { made: object }>
type Chosen = Parameters<SignUps['confirm']>[1]

interface Again {
  readonly username?: string
  readonly problems?: Problems
  readonly status?: number
}

interface Told {
  readonly title: Words
  readonly text: Words
}

const SPENT: Told = {
  title: message('This link is no longer good'),
  text: message('It is more than a day old, or is not complete. Ask for your account once more.'),
}
const MADE: Told = {
  title: message('Your account is there'),
  text: message(
    'Your address is confirmed. Sign in with your password; if you came from an app, go back to it.',
  ),
}
const READY: Told = {
  title: message('Welcome'),
  text: message('Your address is confirmed, and you are signed in.'),
}
const HAS_ONE: Told = {
  title: message('You have an account already'),
  text: message(
    'An account with this address was made meanwhile. Sign in to it; if you do not know its password, ask for a new one there.',
  ),
}
const NAME_TAKEN = message('This user name is taken. Choose another one.')

export async function addConfirmation(fastify: FastifyInstance): Promise<void> {
  const { oauth, browser, interactions, pages } = fastify
  const { signUps, config } = kernelOf(fastify)
  const { basePath } = oauth.config
  const throttle = oauth.throttle('sign-up-link')
  const marks = createBrowserMarks(fastify)
  const form = createSignUpForm(fastify)
  const purposeOf = (token: string): string => `sign-up ${token}`
  // It leads back to the app, where that asks for nothing more.
  await pages.add('sign-up-confirm', new URL('../../templates/sign-up-confirm.eta', import.meta.url), {
    leadsAway: true,
  })

  const signIn = () => leadingTo(pages.places.signIn(), { text: message('Sign in') })
  const signUp = { href: `${basePath}${PATH}`, text: message('Create an account') }
  const account = () =>
    fastify.hasPlugin('latchkey-account')
      ? { href: `${basePath}/account`, text: message('Go to your account') }
      : leadingTo(pages.places.start(), { text: message('Go on') })

  function refuse(call: PageCall, told: Told = SPENT, primary: typeof signUp | null = signUp): FastifyReply {
    oauth.audit.observe({ type: 'user.link_refused', details: { link: 'sign-up' } })
    return call.reply.page('page-message', { ...told, primary }, { status: 410 })
  }

  /** The account is there: who is signed in to it is not asked to. `user` is whose it is, where that is known. */
  async function showMade(call: PageCall, user?: string): Promise<FastifyReply> {
    const session = await browser.session(call.request)
    const isIn = session !== null && (user === undefined || session.userId === user)
    const told = isIn ? { ...READY, primary: account() } : { ...MADE, primary: signIn() }
    return call.reply.page('page-message', told)
  }

  async function show(
    call: PageCall,
    token: string,
    asked: AskedSignUp,
    again: Again = {},
  ): Promise<FastifyReply> {
    const { username = asked.username, problems = {}, status = 200 } = again
    // Told to nobody but who reads the mails of the address.
    const isTaken = (await oauth.users.find(username)) !== null
    const model = {
      action: `${basePath}${CONFIRM}`,
      csrfToken: browser.csrfToken(call, purposeOf(token)),
      token,
      username,
      email: asked.email,
      asksForName: isTaken || problems.username !== undefined,
      asksForPassword: !marks.isThis(call, asked.browser),
      problems: isTaken ? { ...problems, username: NAME_TAKEN } : problems,
      passwordMinLength: config.OIDC_PASSWORD_MIN_LENGTH,
    }
    return call.reply.page('sign-up-confirm', model, { status })
  }

  /** The account is there: who asked for it in this browser is signed in by what they have just sent, and goes on where they were. */
  async function goOn(
    call: PageCall,
    token: string,
    { browser: mark, back, made }: MadeSignUp,
  ): Promise<FastifyReply> {
    if (!marks.isThis(call, mark) || Date.now() - made.at > TWICE_WITHIN) return showMade(call, made.user)
    const proof = { user: await oauth.users.get(made.user), amr: PASSWORD_AMR, acr: PASSWORD_ACR }
    // Whoever has signed out since, and whoever comes to the browser then, is signed in by nothing that was sent before.
    const shown = hashOf(token)
    if ((await interactions.wayBack(back, call)) !== null)
      return interactions.prove(back, { ...proof, isOnce: shown }, call)
    await browser.signIn(call, { ...proof, ...shownOnce(shown) })
    return call.reply.redirect(`${basePath}${CONFIRM}?done=yes`, 303)
  }

  /** Null when the account is there; else why not. Throws 429. */
  async function confirm(token: string, chosen: Chosen, address: string): Promise<OAuthError | null> {
    const attempt = await throttle.attempt(null, address)
    try {
      await signUps.confirm(token, chosen)
      attempt.succeeded()
      return null
    } catch (error) {
      if (!(error instanceof OAuthError) || error.status >= 500) throw error
      await attempt.failed()
      return error
    } finally {
      attempt.abandoned()
    }
  }

  pages.serve({
    path: CONFIRM,
    query: Type.Object({ token: Text, done: Text }),
    form: Type.Object({ token: Text, username: Text, password: Text }),
    async show({ token = '', done }, call) {
      if (done !== undefined) return showMade(call)
      const found = await signUps.find(token)
      if (found === null) return refuse(call)
      if (found.made !== undefined) return showMade(call, found.made.user)
      const refusal = form.refusalOf(found.email)
      return refusal === undefined
        ? show(call, token, found)
        : refuse(call, { title: SPENT.title, text: refusal })
    },
    async submit({ token = '', username, password = '' }, call) {
      browser.assertGenuine(call, call.wire, purposeOf(token))
      const asked = await signUps.find(token)
      if (asked === null) return refuse(call)
      if (asked.made !== undefined) return goOn(call, token, asked)
      const refusal = form.refusalOf(asked.email)
      if (refusal !== undefined) return refuse(call, { title: SPENT.title, text: refusal })
      const isHere = marks.isThis(call, asked.browser)
      const chosen = { ...(username === undefined ? {} : { username }), ...(isHere ? {} : { password }) }
      let error: OAuthError | null
      try {
        error = await confirm(token, chosen, call.request.ip)
      } catch (thrown) {
        const { advice, status } = waitFor(thrown, call)
        return show(call, token, asked, { ...chosen, problems: { form: advice }, status })
      }
      const now = await signUps.find(token)
      if (now === null) return refuse(call)
      // By this request, or by another one of the same click.
      if (now.made !== undefined) return goOn(call, token, now)
      const problems = problemOf(error)
      if (problems.email !== undefined) return refuse(call, HAS_ONE, signIn())
      return show(call, token, asked, { ...chosen, problems, status: 400 })
    },
  })
}
