/**
 * Newcomers with an address that nobody is believed about: it gets a mail, and `/upstream/confirm`, where its link leads, makes their account,
 * in the browser in which they came and in no other. Whether somebody has the address is looked up behind the request, and said in the mail
 * alone: the page, its time and its statements are the same for all.
 */
import type { FastifyInstance, FastifyReply } from 'fastify'
import { kernelOf } from '../../src/http/kernel-of.ts'
import { logFailure } from '../../src/http/errors.ts'
import { lookAgain } from '../../src/http/look-again.ts'
import { OAuthError } from '../../src/protocol/errors.ts'
import { hashOf } from '../../src/protocol/handle.ts'
import { message } from '../../src/protocol/message.ts'
import { Type } from '../../src/protocol/schema.ts'
import type { Upstream } from '../../src/services/upstreams/upstream-registry.ts'
import { endedSince } from '../../src/services/users/user.ts'
import { shownOnce } from '../browser/shown-once.ts'
import { ASKED_MAILS } from '../mail/asked-mails.ts'
import { readHere } from '../mail/read-here.ts'
import { askingFor, ofAddress } from '../mail/whose.ts'
import { readerOf } from '../mail/reader-of.ts'
import type { PageCall } from '../pages/index.ts'
import { leadingTo } from '../pages/places.ts'
import type { Accounts, Newcomer } from './accounts.ts'
import { isMarked, markOf } from './flows.ts'
import { subjectOf } from './links.ts'
import { addNewcomerMails, type AskedNewcomer, NOBODY, type OfUpstream } from './newcomer-mails.ts'
import { createUses, type Use } from './newcomer-uses.ts'
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
/** Until the click that came first has noted what came of it: a second. */
const LOOKS = 20
const Text = Type.Optional(Type.String())
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
  const uses = createUses(fastify, KIND)
  const purposeOf = (token: string): string => `upstream newcomer ${token}`
  const hints = createWaitingHints(box)

  /** As long as it is the same one. */
  async function upstreamOf(asked: OfUpstream | undefined): Promise<Upstream | undefined> {
    return (await upstreams.all()).find(({ id, issuer }) => id === asked?.upstream && issuer === asked.issuer)
  }

  // It leads back to the app, where that asks for nothing more.
  await pages.add('upstream-confirm', new URL('../../templates/confirm.eta', import.meta.url), {
    leadsAway: true,
  })

  addNewcomerMails(fastify, { kind: KIND, path: PATH, links, upstreamOf })

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

  /** The page that says why the link is good for nothing here, with this status in another browser; else what it is, or was just, for. */
  async function judge(token: string, call: PageCall, status: number) {
    const asked = await links.get(token)
    const used = asked === null ? await uses.find(token, call) : null
    const upstream = await upstreamOf(asked ?? used?.asked)
    if (upstream === undefined) return { page: refuse(call) }
    if (used !== null) return { used, upstream }
    if (asked === null) return { page: refuse(call) }
    if (!isMarked(browser.id(call), asked.browser)) {
      const page = call.reply.page('page-message', { ...ELSEWHERE, primary: null }, { status })
      return { page }
    }
    return { asked, upstream }
  }

  /** Whoever clicks twice is led on by both, to one session: after it has ended the link signs nobody in. */
  async function goOn(
    token: string,
    { asked, user: id, isNew }: Use,
    upstream: Upstream,
    call: PageCall,
  ): Promise<FastifyReply> {
    const user = await oauth.findUser(id)
    if (user === null || user.disabled || endedSince(user, asked.askedAt ?? 0)) return refuse(call)
    await signOuts.remember(upstream, id, hints.open(asked), call)
    const [proof, shown] = [proofOf(user), hashOf(token)]
    if ((await interactions.wayBack(asked.back, call)) !== null)
      return interactions.prove(asked.back, { ...proof, isOnce: shown }, call)
    // An account that was linked meanwhile may want more of its person than the upstream proves: the sign-in page knows.
    if (!isNew) return call.reply.page('page-message', { ...THERE, primary: toSignIn() }, { status: 200 })
    await browser.signIn(call, { ...proof, ...shownOnce(shown) })
    return call.reply.redirect(pages.places.start() ?? `${basePath}/end-session`, 303)
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
      if ('used' in found) return refuse(call)
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
      const { upstream } = found
      if ('used' in found) return goOn(token, found.used, upstream, call)
      const { asked } = found
      const account = await accounts.welcome(upstream, asked, asked)
      if ('refused' in account) {
        const told = { title: message('No account was made'), text: explain(account.refused, upstream) }
        return refuse(call, told)
      }
      const { user, isNew = false } = account
      // Linked in another way meanwhile: what the upstream said before everything of theirs ended proves nothing any more.
      if (endedSince(user, asked.askedAt ?? 0)) return refuse(call)
      // Where it was made just now by another click, that one says so.
      const isOfAnother = !isNew && user.createdAt >= (asked.askedAt ?? 0)
      const first = isOfAnother
        ? await lookAgain(LOOKS, async () => (await uses.find(token, call)) ?? undefined)
        : undefined
      const { claims: _claims, email: _email, ...kept } = asked
      const use = first ?? (await uses.use(token, { asked: kept, user: user.id, isNew }, call))
      if (use === null) return refuse(call)
      return goOn(token, { ...use, isNew: isNew || use.isNew }, upstream, call)
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
