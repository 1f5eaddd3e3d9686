/**
 * Sign-up: `/sign-up` asks for a user name, an address and a password, a mail has a link, and at `/sign-up/confirm` the account is made.
 * Whether anybody has the address is looked up behind the request, so that its answer, its time and its statements are the same for all.
 * With `OIDC_SIGN_UP=off` nothing of it is here. `docs/adr/0051-sign-up.md` says who is signed in by a link, and who is not.
 */
import type { FastifyInstance, FastifyReply } from 'fastify'
import fp from 'fastify-plugin'
import { ConfigError } from '../../src/config.ts'
import type { Interaction } from '../../src/doors/interaction.ts'
import { kernelOf } from '../../src/http/kernel-of.ts'
import { waitFor } from '../../src/http/wait.ts'
import { isMailAddress, NO_MAIL_ADDRESS } from '../../src/protocol/mail-address.ts'
import { message } from '../../src/protocol/message.ts'
import { Type } from '../../src/protocol/schema.ts'
import type { AskedSignUp } from '../../src/services/users/sign-ups.ts'
import { promptsOf } from '../interaction/prompt.ts'
import { ASKED_MAILS } from '../mail/asked-mails.ts'
import { readHere } from '../mail/read-here.ts'
import { askingFor, ofAddress } from '../mail/whose.ts'
import type { PageCall } from '../pages/index.ts'
import { createBrowserMarks } from './browser-mark.ts'
import { addConfirmation } from './confirmation.ts'
import { createSignUpForm, PATH, problemOf, type Problems } from './form.ts'
import { confirmLetter, existingLetter } from './letters.ts'

const KIND = 'sign-up'
/** Languages of the page on which it was asked for, with spaces between; what an earlier version has enqueued does not say. */
const Locales = Type.Optional(Type.String())
/** Whoever has no account has chosen no language. */
const NOBODY = { claims: {} }
const Text = Type.Optional(Type.String())
const Continue = Type.Optional(Type.String({ maxLength: 8000 }))
const Fields = Type.Object({ continue: Continue, username: Text, email: Text, password: Text })

async function signUp(fastify: FastifyInstance): Promise<void> {
  const { oauth, browser, interactions, language, letters, pages } = fastify
  const { signUps, config } = kernelOf(fastify)
  if (config.OIDC_SIGN_UP[0] === 'off') return
  if (!fastify.hasDecorator('letters'))
    throw new ConfigError(
      'OIDC_SIGN_UP needs the plugin latchkey-mail: leave out neither, or set OIDC_SIGN_UP=off.',
    )
  fastify.addHook('onReady', async () => {
    if (!letters.isOn())
      throw new ConfigError('OIDC_SIGN_UP needs mails: set SMTP_URL and MAIL_FROM, or OIDC_SIGN_UP=off.')
  })
  const { basePath } = oauth.config
  const throttle = oauth.throttle(KIND, { ...ASKED_MAILS, ownerOf: ofAddress(fastify) })
  const form = createSignUpForm(fastify)
  const marks = createBrowserMarks(fastify)
  await pages.add('sign-up-form', new URL('../../templates/sign-up.eta', import.meta.url))
  await addConfirmation(fastify)

  const isAsked = ({ session, request }: Interaction): boolean =>
    session === null || promptsOf(request).includes('select_account')

  oauth.add('signInLink', {
    name: 'sign-up',
    async link(interaction) {
      if (!isAsked(interaction)) return null
      const query = new URLSearchParams({ continue: interaction.address })
      return { text: message('Create an account'), href: `${basePath}${PATH}?${query.toString()}` }
    },
  })

  // Initiating User Registration via OpenID Connect 1.0 §4.1.
  oauth.register('signInMethod', KIND, {
    prompt: 'create',
    offer: async () => null,
    async page({ state, form: toSignIn, address, hint }, call) {
      if (state !== undefined) return null
      const values = { username: '', email: isMailAddress(hint) ? hint : '' }
      return {
        page: 'sign-up-form',
        model: { ...form.modelOf(call, { values, back: address, signIn: toSignIn }) },
      }
    },
    submit: async () => ({ state: { has: 'an account' } }),
  })

  oauth.deliver({
    kind: KIND,
    payload: Type.Object({
      username: Type.String(),
      email: Type.String(),
      passwordHash: Type.String(),
      browser: Type.String(),
      back: Type.String(),
      locales: Locales,
    }),
    async deliver({ locales, ...asked }) {
      const user = await oauth.users.findByEmail(asked.email)
      const letter =
        user === null
          ? confirmLetter(oauth.issuer, await signUps.make(asked))
          : existingLetter(user.username, oauth.issuer, pages.places.signIn())
      return letters.send(asked.email, letter, await language.readerOf(user ?? NOBODY, locales))
    },
  })

  /** Throws 429 for who has to wait, and 503 where too many passwords are hashed or too much waits to be sent. */
  async function ask(
    wanted: Pick<AskedSignUp, 'username' | 'email'>,
    password: string,
    back: string,
    call: PageCall,
  ) {
    const { account, mark } = await askingFor(fastify, wanted.email.trim(), call.request)
    const attempt = await throttle.attempt(account, call.request.ip, mark)
    await attempt.failed()
    const judged = await signUps.judge(wanted, password)
    const { tags } = await language.reader(call)
    await oauth.enqueue(KIND, { ...judged, browser: marks.markOf(call), back, locales: tags.join(' ') })
  }

  pages.serve({
    path: PATH,
    query: Type.Object({ continue: Continue, sent: Text }),
    form: Fields,
    async show({ continue: to = '', sent }, call) {
      const back = (await interactions.wayBack(to, call)) ?? ''
      if (sent === undefined) return form.show(call, { back })
      return call.reply.page('page-message', {
        title: message('Check your email'),
        text: message(
          'A mail with a link is on its way to you. Open the link in this browser, within a day, to go on.',
        ),
        primary: readHere(fastify, call),
      })
    },
    async submit(
      { continue: to = '', username = '', email = '', password = '' },
      call,
    ): Promise<FastifyReply> {
      browser.assertGenuine(call, call.wire, PATH)
      const back = (await interactions.wayBack(to, call)) ?? ''
      const values = { username: username.trim(), email: email.trim() }
      const again = (problems: Problems, status = 400): FastifyReply =>
        form.show(call, { values, problems, back, status })
      const missing = problemsOf(values, password)
      if (missing !== null) return again(missing)
      try {
        await ask(values, password, back, call)
      } catch (error) {
        if ((error as { code?: string }).code === 'invalid_request') return again(problemOf(error))
        const { advice, status } = waitFor(error, call)
        return again({ form: advice }, status)
      }
      const told = { sent: 'yes', ...(back === '' ? {} : { continue: back }) }
      return call.reply.redirect(`${basePath}${PATH}?${new URLSearchParams(told).toString()}`, 303)
    },
    again: async ({ continue: to = '', username = '', email = '' }, call) =>
      form.show(call, { values: { username, email }, back: (await interactions.wayBack(to, call)) ?? '' }),
  })

  /** What costs nothing to see; null for nothing. */
  function problemsOf(
    { username, email }: { username: string; email: string },
    password: string,
  ): Problems | null {
    const refusal = isMailAddress(email) ? form.refusalOf(email) : NO_MAIL_ADDRESS
    const problems: Problems = {
      ...(username === '' ? { username: message('Choose a user name.') } : {}),
      ...(refusal === undefined ? {} : { email: refusal }),
      ...(password === '' ? { password: message('Choose a password.') } : {}),
    }
    return Object.keys(problems).length > 0 ? problems : null
  }
}

export default fp(signUp, {
  name: 'latchkey-sign-up',
  dependencies: [
    'latchkey-oauth',
    'latchkey-browser',
    'latchkey-language',
    'latchkey-pages',
    'latchkey-interaction',
  ],
})
