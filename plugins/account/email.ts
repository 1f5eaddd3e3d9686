/**
 * `/account/email`: the address by which a user is reached, may sign in, and apps may know them. A new one counts once the link that was
 * mailed to it is followed; where no mail can be sent it is taken as it is, and not verified. Who changes it has signed in a moment ago: a
 * browser that was left open must not give an account away.
 */
import type { FastifyInstance } from 'fastify'
import type { Session } from '../../src/doors/interaction.ts'
import type { User } from '../../src/doors/user.ts'
import { waitFor } from '../../src/http/wait.ts'
import { isMailAddress, NO_MAIL_ADDRESS } from '../../src/protocol/mail-address.ts'
import { message, type Words } from '../../src/protocol/message.ts'
import { Type } from '../../src/protocol/schema.ts'
import { ofUser } from '../../src/services/throttle/throttle-limits.ts'
import { ASKED_MAILS } from '../mail/asked-mails.ts'
import { readerOf } from '../mail/reader-of.ts'
import { askingFor, ofAddress } from '../mail/whose.ts'
import { keptElsewhere } from '../password/kept-elsewhere.ts'
import { LOOK_AGAIN } from '../pages/expired-form.ts'
import type { PageCall } from '../pages/index.ts'
import type { Notice } from '../pages/models.ts'
import type { OwnArea } from './area.ts'
import { CONFIRM_EMAIL } from './confirm-email.ts'
import { confirmLetter, takenLetter } from './email-letters.ts'

const PATH = '/email'
const SAVED: Notice = { kind: 'success', text: message('Saved.') }
const ONLY_WAY_IN = message(
  'Your address is the only way by which you can sign in. Add another one first, and then take it away.',
)
/** Of what stands in the query: nobody can put another address there, nor one of another session. */
const sentIn = ({ sid }: Session): string => `mail to confirm sent to in ${sid}`
const KIND = 'confirm-email'

/** Nothing would be left by which they could sign in. */
class OnlyWayIn extends Error {}

interface Shown {
  notice?: Notice | null
  typed?: string
  error?: Words | null
  status?: number
}

export function addEmail(area: OwnArea, fastify: FastifyInstance): void {
  const { oauth, kernel, serve, uri, userOf } = area
  const ofAsker = oauth.throttle('confirm-email', { ...ASKED_MAILS, ownerOf: ofUser })
  const toAddress = oauth.throttle('confirm-email-to', { ...ASKED_MAILS, ownerOf: ofAddress(fastify) })
  const mailed = (): boolean => fastify.hasDecorator('letters') && fastify.letters.isOn()

  // Whose the address is already is looked up behind the request, which takes the same time for all. The mail says it, and nobody else is told.
  oauth.deliver({
    kind: KIND,
    payload: Type.Object({
      user: Type.String(),
      email: Type.String(),
      token: Type.String(),
      locales: Type.String(),
    }),
    async deliver({ user: id, email, token, locales }) {
      const [user, owner] = [await oauth.findUser(id), await oauth.users.findByEmail(email)]
      if (user === null || !mailed()) return
      if (owner !== null && owner.id !== id)
        return fastify.letters.send(email, takenLetter(oauth.issuer), await readerOf(fastify, owner))
      const href = `${oauth.issuer}${CONFIRM_EMAIL}?token=${token}`
      const letter = confirmLetter(oauth.issuer, href)
      return fastify.letters.send(email, letter, await readerOf(fastify, user, locales))
    },
  })

  /** Where the address is kept; null where that is here. */
  async function keptOf(userId: string) {
    const kept = await keptElsewhere(oauth, userId)
    return kept?.claims.includes('email') === true ? kept : null
  }

  async function show(call: PageCall, { notice = null, typed, error = null, status }: Shown) {
    const { id, claims } = await userOf(call)
    const email = (claims['email'] as string | undefined) ?? ''
    const model = {
      ...area.target(call, PATH),
      profileUri: uri('/profile'),
      email,
      verified: claims['email_verified'] === true,
      mailed: mailed(),
      kept: await keptOf(id),
      typed: typed ?? email,
      notice,
      error,
    }
    return call.reply.page('account-email', model, { status: status ?? (error === null ? 200 : 400) })
  }

  /** Throws 429 for who has to wait, and 503 where too much waits to be sent. */
  async function sendLink({ id: user, claims }: User, email: string, call: PageCall): Promise<void> {
    const { ip } = call.request
    await (await ofAsker.attempt(user, ip)).failed()
    const { account, mark } = await askingFor(fastify, email, call.request)
    await (await toAddress.attempt(account, ip, mark)).failed()
    // Made here: what ends it from now on ends it, however long the mail takes.
    const token = await kernel.emailLinks.make(user, email)
    if (token === null) return
    const { tags } = await readerOf(fastify, { claims }, call)
    await oauth.enqueue(KIND, { user, email, token, locales: tags.join(' ') })
  }

  /** Without a mail. Throws `OnlyWayIn`, whoever else takes another way in at the same moment. */
  async function save({ id }: User, email: string): Promise<void> {
    const before = await kernel.users.waysIn(id)
    await kernel.users.update({ id }, claimsFor(email), {
      async also(query) {
        if (before.length > 0 && (await kernel.users.waysInBy(query, id)).length === 0) throw new OnlyWayIn()
      },
    })
  }

  /** `had`: whether the form was shown with an address. One that takes it away may come twice. */
  async function change(call: PageCall, typed: string, had: boolean) {
    const user = await userOf(call)
    const { email = '', email_verified: isVerified } = user.claims
    if (typed === '' && email === '' && !had) return show(call, { typed, error: NO_MAIL_ADDRESS })
    if (typed === email && (typed === '' || isVerified === true || !mailed()))
      return call.reply.redirect(uri(PATH, { saved: 'yes' }), 303)
    try {
      if (typed === '' || !mailed()) {
        await save(user, typed)
        return call.reply.redirect(uri(PATH, { saved: 'yes' }), 303)
      }
      await sendLink(user, typed, call)
    } catch (error) {
      if (error instanceof OnlyWayIn) return show(call, { error: ONLY_WAY_IN })
      const { advice, status } = waitFor(error, call)
      return show(call, { typed, error: advice, status })
    }
    return call.reply.redirect(
      uri(PATH, { sent: kernel.box.seal(typed, sentIn(area.sessionOf(call.request))) }),
      303,
    )
  }

  serve({
    path: `/account${PATH}`,
    query: Type.Object({ saved: Type.Optional(Type.String()), sent: Type.Optional(Type.String()) }),
    form: Type.Object({ email: Type.Optional(Type.String()), had: Type.Optional(Type.String()) }),
    show: async ({ saved, sent }, call) =>
      area.signInAgain(call, uri(PATH)) ??
      show(call, {
        notice:
          sent !== undefined
            ? sentNotice(kernel.box.tryOpen(sent, sentIn(area.sessionOf(call.request))))
            : saved !== undefined
              ? SAVED
              : null,
      }),
    async submit({ email = '', had }, call) {
      area.assertGenuine(call, PATH)
      const again = area.signInAgain(call, uri(PATH))
      if (again !== undefined) return again
      if ((await keptOf(area.sessionOf(call.request).userId)) !== null) return show(call, { status: 403 })
      const typed = email.trim()
      if (typed !== '' && !isMailAddress(typed)) return show(call, { typed, error: NO_MAIL_ADDRESS })
      return change(call, typed, had !== undefined)
    },
    again: async ({ email = '' }, call) => show(call, { typed: email, notice: LOOK_AGAIN }),
  })
}

/** Null for an address that we did not seal. */
function sentNotice(email: string | null): Notice | null {
  if (email === null) return null
  const text = message(
    'A mail with a link is on its way to {email}. The address counts once you have followed it; until then, everything stays as it is.',
    { email },
  )
  return { kind: 'notice', text }
}

/** Nobody has verified the new one. */
function claimsFor(email: string): Record<string, unknown> {
  return email === '' ? { email: null, email_verified: null } : { email, email_verified: false }
}
