/**
 * Newcomers with an address that nobody is believed about: it gets a mail, and `/upstream/confirm`, where its link leads, makes their account,
 * in the browser in which they came and in no other. Whether somebody has the address is looked up behind the request, and said in the mail
 * alone: the page, its time and its statements are the same for all.
 */
import type { FastifyInstance, FastifyReply } from 'fastify'
import type { Static } from 'typebox'
import { kernelOf } from '../../src/http/kernel-of.ts'
import { logFailure } from '../../src/http/errors.ts'
import { OAuthError } from '../../src/protocol/errors.ts'
import { message } from '../../src/protocol/message.ts'
import { Type } from '../../src/protocol/schema.ts'
import type { Upstream } from '../../src/services/upstreams/upstream-registry.ts'
import { usernameKey } from '../../src/protocol/username.ts'
import { ASKED_MAILS } from '../mail/asked-mails.ts'
import { readHere } from '../mail/read-here.ts'
import { askingFor, ofAddress } from '../mail/whose.ts'
import { readerOf } from '../mail/reader-of.ts'
import type { PageCall } from '../pages/index.ts'
import { leadingTo } from '../pages/places.ts'
import type { Accounts, Newcomer } from './accounts.ts'
import { isMarked, markOf } from './flows.ts'
import { confirmLetter, existingLetter } from './letters.ts'
import { subjectOf } from './links.ts'
import type { Identity } from './provider.ts'
import { proofOf } from './sign-in.ts'
import type { SignOuts } from './sign-out.ts'
import { createWaitingHints } from './waiting-hints.ts'
import { explain, nameOf } from './words.ts'

declare module '../pages/models.ts' {
  interface Pages {
    'upstream-confirm': ConfirmPage
  }
}

export interface Newcomers {
  /**
   * Has the address mailed; `back` is that of the interaction that they came from. False for who has to wait; throws 503 where too much
   * waits to be sent. Answers nothing: a reply that is awaited is undefined.
   */
  ask(
    upstream: Upstream,
    identity: Identity,
    newcomer: Newcomer,
    back: string,
    call: PageCall,
  ): Promise<boolean>
  /** To the page that says so, whosever the address is. */
  lead(call: PageCall): FastifyReply
}

export interface NewcomersOptions {
  readonly accounts: Accounts
  readonly signOuts: SignOuts
}

const KIND = 'upstream-newcomer'
const PATH = '/upstream/confirm'
/** Seconds. */
const LIFETIME = 86_400
/** Links to one address: who asks once more does not end what is just being read, and who asks for ever fills nothing. */
const MOST = 10
/** Whoever has no account has chosen no language. */
const NOBODY = { claims: {} }
const Text = Type.Optional(Type.String())
const Asked = Type.Object({
  upstream: Type.String(),
  issuer: Type.String(),
  subject: Type.String(),
  subjectClaim: Type.Optional(Type.String()),
  email: Type.String(),
  claims: Type.Object({}),
  browser: Type.String(),
  back: Type.String(),
  /** Sealed; where signing out here is to sign out there too. */
  idToken: Type.Optional(Type.String()),
  locales: Type.String(),
  /** When the upstream said who they are, in milliseconds since the epoch, by the clock of the processes; those of earlier versions do not say. */
  askedAt: Type.Optional(Type.Number()),
})
type AskedNewcomer = Static<typeof Asked> & Newcomer

const SPENT = {
  title: message('This link is no longer good'),
  text: message('It was used, is more than a day old, or you were signed out since. Sign in once more.'),
}
const THERE = {
  title: message('Your account is there'),
  text: message('Sign in to it; if you came from an app, go back to it.'),
}
const ELSEWHERE = {
  title: message('Open this link in the other browser'),
  text: message('It is good in the browser in which you signed in. Copy its address there.'),
}

export async function addNewcomers(fastify: FastifyInstance, options: NewcomersOptions): Promise<Newcomers> {
  const { oauth, browser, interactions, pages } = fastify
  const { accounts, signOuts } = options
  const { upstreams, box } = kernelOf(fastify)
  const { basePath } = oauth.config
  const throttle = oauth.throttle(KIND, { ...ASKED_MAILS, ownerOf: ofAddress(fastify) })
  const links = oauth.artifacts<AskedNewcomer>(KIND, { lifetime: LIFETIME })
  const purposeOf = (token: string): string => `upstream newcomer ${token}`
  const hints = createWaitingHints(box)

  /** As long as it is the same one. */
  async function upstreamOf({ upstream: id, issuer }: Static<typeof Asked>): Promise<Upstream | undefined> {
    return (await upstreams.all()).find((one) => one.id === id && one.issuer === issuer)
  }

  // It leads back to the app, where that asks for nothing more.
  await pages.add('upstream-confirm', new URL('../../templates/confirm.eta', import.meta.url), {
    leadsAway: true,
  })

  oauth.deliver({
    kind: KIND,
    payload: Asked,
    async deliver(asked) {
      const upstream = await upstreamOf(asked)
      if (upstream === undefined || !fastify.hasDecorator('letters')) return
      const { email, locales } = asked
      const user = await oauth.users.findByEmail(email)
      const reader = await readerOf(fastify, user ?? NOBODY, locales)
      if (user !== null) {
        const letter = existingLetter(upstream, user.username, oauth.issuer, pages.places.signIn())
        return fastify.letters.send(email, letter, reader)
      }
      const owner = box.hash(`newcomer of\0${usernameKey(email)}`)
      const token = await links.put(asked as AskedNewcomer, { owner, most: MOST })
      if (token === false) throw new Error('a new link was not stored')
      const href = `${oauth.issuer}${PATH}?token=${token}`
      return fastify.letters.send(email, confirmLetter(upstream, oauth.issuer, href), reader)
    },
  })

  async function mayBeMailed(email: string, { request }: PageCall): Promise<boolean> {
    try {
      const { account, mark } = await askingFor(fastify, email, request)
      const attempt = await throttle.attempt(account, request.ip, mark)
      await attempt.failed()
      return true
    } catch (error) {
      if (!(error instanceof OAuthError) || error.status !== 429) throw error
      logFailure(error, request)
      return false
    }
  }

  const toSignIn = () => leadingTo(pages.places.signIn(), { text: message('Sign in') })

  function refuse({ reply }: PageCall, told = SPENT): FastifyReply {
    oauth.audit.observe({ type: 'user.link_refused', details: { link: 'upstream' } })
    return reply.page('page-message', { ...told, primary: toSignIn() }, { status: 410 })
  }

  /** The page that says why the link is good for nothing here, with this status in another browser; else what it is for. */
  async function judge(token: string, call: PageCall, status: number) {
    const asked = await links.get(token)
    const upstream = asked === null ? undefined : await upstreamOf(asked)
    if (asked === null || upstream === undefined) return { page: refuse(call) }
    if (!isMarked(browser.id(call), asked.browser)) {
      const page = call.reply.page('page-message', { ...ELSEWHERE, primary: null }, { status })
      return { page }
    }
    return { asked, upstream }
  }

  pages.serve({
    path: PATH,
    query: Type.Object({ token: Text, sent: Text }),
    form: Type.Object({ token: Text }),
    async show({ token = '', sent }, call) {
      if (sent !== undefined)
        return call.reply.page('page-message', {
          title: message('Check your email'),
          text: message(
            'A mail with a link is on its way to you. Open the link in this browser, within a day, to go on.',
          ),
          primary: readHere(fastify, call),
        })
      const found = await judge(token, call, 200)
      if ('page' in found) return found.page
      return call.reply.page('upstream-confirm', {
        action: `${basePath}${PATH}`,
        csrfToken: browser.csrfToken(call, purposeOf(token)),
        token,
        title: message('Confirm your email address'),
        text: message('{email} becomes the address of your new account, to which you sign in with {name}.', {
          email: found.asked.email,
          name: nameOf(found.upstream),
        }),
        button: message('Create account'),
      })
    },
    async submit({ token = '' }, call) {
      browser.assertGenuine(call, call.wire, purposeOf(token))
      const found = await judge(token, call, 403)
      if ('page' in found) return found.page
      const { asked, upstream } = found
      const account = await accounts.welcome(upstream, asked, asked)
      if ('refused' in account) {
        const told = { title: message('No account was made'), text: explain(account.refused, upstream) }
        return refuse(call, told)
      }
      const { user } = account
      // Linked in another way meanwhile: what the upstream said before everything of theirs ended proves nothing any more.
      if ((user.endedAt ?? 0) > (asked.askedAt ?? 0)) return refuse(call)
      // Whoever clicks twice is led on by both; after that it signs nobody in.
      await links.spend(token)
      await signOuts.remember(upstream, user.id, hints.open(asked), call)
      const proof = proofOf(user)
      if ((await interactions.wayBack(asked.back, call)) !== null)
        return interactions.prove(asked.back, proof, call)
      // An account that was linked meanwhile may want more of its person than the upstream proves: the sign-in page knows.
      if (account.isNew !== true)
        return call.reply.page('page-message', { ...THERE, primary: toSignIn() }, { status: 200 })
      await browser.signIn(call, proof)
      return call.reply.redirect(pages.places.start() ?? `${basePath}/end-session`, 303)
    },
  })

  return {
    async ask(upstream, identity, newcomer, back, call) {
      if (!(await mayBeMailed(newcomer.email, call))) return false
      const { tags } = await readerOf(fastify, NOBODY, call)
      await oauth.enqueue(KIND, {
        ...newcomer,
        upstream: upstream.id,
        ...subjectOf(identity),
        browser: markOf(browser.id(call)),
        back,
        ...hints.of(upstream, identity),
        locales: tags.join(' '),
        askedAt: Date.now(),
      })
      return true
    },
    lead: ({ reply }) => reply.redirect(`${basePath}${PATH}?sent=yes`, 303),
  }
}
