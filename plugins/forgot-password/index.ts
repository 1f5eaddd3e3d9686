/**
 * Forgotten passwords: `/forgot-password` asks for an address, a mail has a link, and `/reset-password` takes a new password. The answer,
 * its time and its statements are the same for all: whose address it is is looked up behind it, or where a browser shows that accounts have signed in with it.
 */
import { message, type Words } from '../../src/protocol/message.ts'
import type { FastifyInstance } from 'fastify'
import fp from 'fastify-plugin'
import type { User } from '../../src/doors/user.ts'
import { kernelOf } from '../../src/http/kernel-of.ts'
import { OAuthError } from '../../src/protocol/errors.ts'
import { isMailAddress, NO_MAIL_ADDRESS } from '../../src/protocol/mail-address.ts'
import { Type } from '../../src/protocol/schema.ts'
import { type Wait, waitFor } from '../../src/http/wait.ts'
import { endedSince } from '../../src/services/users/user.ts'
import { serveNewPassword } from '../password/new-password-page.ts'
import { ASKED_MAILS } from '../mail/asked-mails.ts'
import { keptElsewhere } from '../password/kept-elsewhere.ts'
import { readHere } from '../mail/read-here.ts'
import { askingFor, ofAddress } from '../mail/whose.ts'
import type { PageCall } from '../pages/index.ts'
import type { FormTarget } from '../pages/models.ts'
import { PASSWORD_ACR, PASSWORD_AMR } from '../password/check.ts'
import { keptLetter, resetLetter } from './letter.ts'

declare module '../pages/models.ts' {
  interface Pages {
    'forgot-password': ForgotPassword
  }
}

interface ForgotPassword extends FormTarget {
  email: string
  /** Where they came from; null for nowhere. */
  back: string | null
  error: Words | null
}

const PATH = '/forgot-password'
const RESET = '/reset-password'
const KIND = 'password-reset'

async function forgotPassword(fastify: FastifyInstance): Promise<void> {
  const { oauth, browser, interactions, language, letters, pages } = fastify
  const { passwordResets } = kernelOf(fastify)
  const { basePath } = oauth.config
  const throttle = oauth.throttle('forgot-password', { ...ASKED_MAILS, ownerOf: ofAddress(fastify) })
  await pages.add('forgot-password', new URL('../../templates/forgot-password.eta', import.meta.url))

  oauth.add('signInLink', {
    name: 'forgot-password',
    link: async ({ address }) =>
      letters.isOn()
        ? {
            text: message('Forgot password?'),
            href: `${basePath}${PATH}?${new URLSearchParams({ continue: address }).toString()}`,
          }
        : null,
  })

  oauth.deliver({
    kind: KIND,
    // Those of earlier versions do not say which languages the page was read in, nor when.
    payload: Type.Object({
      email: Type.String(),
      back: Type.String(),
      locales: Type.Optional(Type.String()),
      askedAt: Type.Optional(Type.Number()),
    }),
    async deliver({ email, back, locales, askedAt }, { enqueuedAt }) {
      const user = await oauth.users.findByEmail(email)
      // Where all of theirs has ended since, whoever asked may be why.
      if (user === null || endedSince(user, askedAt ?? enqueuedAt)) return
      const kept = await keptElsewhere(oauth, user.id)
      // A password of ours would be a second one, which whoever runs the directory does not know of.
      if (kept === null || (await oauth.users.canSignInByPassword(user.username)))
        return sendLink(user, back, locales)
      const letter = keptLetter(user.username, oauth.issuer, kept)
      await letters.send(email, letter, await language.readerOf(user, locales))
    },
  })

  async function sendLink(user: User, back: string, locales?: string): Promise<void> {
    const { id, username, claims } = user
    const email = String(claims['email'])
    const token = await passwordResets.make(id, back, email)
    if (token === null) return
    const href = `${oauth.issuer}${RESET}?token=${token}`
    const reader = await language.readerOf(user, locales)
    await letters.send(email, resetLetter(username, oauth.issuer, href), reader)
  }

  /** As if it were not there. */
  function assertOn(): void {
    if (!letters.isOn()) throw new OAuthError('not_found', 'no mail can be sent here', { status: 404 })
  }

  function show(
    call: PageCall,
    { email = '', back = null, error = null }: Partial<ForgotPassword>,
    status = error === null ? 200 : 400,
  ) {
    const csrfToken = browser.csrfToken(call, PATH)
    const model = { action: `${basePath}${PATH}`, csrfToken, email, back, error }
    return call.reply.page('forgot-password', model, { status })
  }

  /** Throws 429 for who has to wait, and 503 where too much waits to be sent. */
  async function ask(email: string, back: string | null, call: PageCall): Promise<void> {
    const { account, mark } = await askingFor(fastify, email, call.request)
    const attempt = await throttle.attempt(account, call.request.ip, mark)
    await attempt.failed()
    const { tags } = await language.reader(call)
    await oauth.enqueue(KIND, { email, back: back ?? '', locales: tags.join(' '), askedAt: Date.now() })
  }

  const Continue = Type.Optional(Type.String({ maxLength: 8000 }))
  pages.serve({
    path: PATH,
    query: Type.Object({ continue: Continue, sent: Type.Optional(Type.String()) }),
    form: Type.Object({ continue: Continue, email: Type.Optional(Type.String()) }),
    async show({ continue: to = '', sent }, call) {
      assertOn()
      const back = await interactions.wayBack(to, call)
      if (sent === undefined) return show(call, { back })
      const text = message(
        'If this is the confirmed address of an account, a mail with a link is on its way there. The link is good for an hour.',
      )
      const primary = readHere(fastify, call)
      return call.reply.page('page-message', { title: message('Check your email'), text, primary })
    },
    async submit({ continue: to = '', email = '' }, call) {
      browser.assertGenuine(call, call.wire, PATH)
      assertOn()
      const typed = email.trim()
      const back = await interactions.wayBack(to, call)
      if (!isMailAddress(typed)) return show(call, { email: typed, back, error: NO_MAIL_ADDRESS })
      try {
        await ask(typed, back, call)
      } catch (error) {
        const wait = waitFor(error, call)
        const told = wait.status === 429 ? laterOf(wait) : wait.advice
        return show(call, { email: typed, back, error: told }, wait.status)
      }
      const told = { sent: 'yes', ...(back === null ? {} : { continue: back }) }
      return call.reply.redirect(`${basePath}${PATH}?${new URLSearchParams(told).toString()}`, 303)
    },
    again: async ({ continue: to = '', email = '' }, call) =>
      show(call, { email, back: await interactions.wayBack(to, call) }),
  })

  await serveNewPassword(fastify, {
    path: RESET,
    ids: { form: 'reset-password', button: 'set-password' },
    throttle: 'password-reset',
    link: 'reset',
    spent: message('It was used, is more than an hour old, or there is a new password already.'),
    another: { text: message('Ask for a new link'), href: `${basePath}${PATH}` },
    isOn: letters.isOn,
    find: async (token) => (await passwordResets.find(token))?.user ?? null,
    backOf: async (token) => (await passwordResets.find(token))?.back ?? '',
    setPassword: passwordResets.setPassword,
    // In the browser that they came with, they go on as if they had typed it there.
    async done({ user, back, shown }, call, said) {
      if ((await interactions.wayBack(back, call)) === null) return said()
      return interactions.prove(back, { user, amr: PASSWORD_AMR, acr: PASSWORD_ACR, isOnce: shown }, call)
    },
  })
}

/** To who cannot know that others have asked for mails to their address, too. */
function laterOf({ text: why, seconds }: Wait): Words {
  return message(
    '{why} If a mail has come already, its link is good for an hour. If not, please wait {seconds, plural, one {# second} other {# seconds}}, and then try again.',
    { why, seconds },
  )
}

export default fp(forgotPassword, {
  name: 'latchkey-forgot-password',
  dependencies: [
    'latchkey-oauth',
    'latchkey-browser',
    'latchkey-pages',
    'latchkey-interaction',
    'latchkey-language',
    'latchkey-mail',
  ],
})
