/**
 * Decorates `fastify.browser`: who is signed in with a browser, and whether a form came from a page of ours. Four
 * cookies: one opens the session, one what lacks a factor still, one tells browsers apart before anybody is signed in, and one keeps marks of the accounts
 * that have signed in there, after they have signed out too.
 */
import type { FastifyInstance, FastifyRequest } from 'fastify'
import fp from 'fastify-plugin'
import { randomBytes } from 'node:crypto'
import type { ApprovalRequest } from '../../src/doors/approval.ts'
import type { BrowserCall, Session } from '../../src/doors/interaction.ts'
import { KNOWN_FOR, type Sought } from '../../src/services/users/known-browsers.ts'
import type { User } from '../../src/services/users/user.ts'
import { kernelOf } from '../../src/http/kernel-of.ts'
import { presentAt } from '../password/kept-elsewhere.ts'
import { createCookies, type Cookie, type CookieOptions } from './cookies.ts'
import { createGenuineForms, type GenuineForms } from './genuine-forms.ts'
import type { Follower } from './sessions-by-cookie.ts'
import { createSignedIn, type BrowserSignIn, type SignedIn } from './signed-in.ts'

/** Not for strangers: it tells of sign-ins that lack a factor. */
export const STEPS = Symbol('latchkey: steps of a sign-in')

export interface Browser extends GenuineForms {
  /** Null when nobody is signed in. */
  session(request: FastifyRequest): Promise<Session | null>
  /** Looked up anew: who sends slowly has a body arrive half a minute behind what a hook has judged, and may be signed out meanwhile. */
  sessionNow(request: FastifyRequest): Promise<Session | null>
  /**
   * Whether a form (its text) came from another site, and so without cookies: sent here again by a redirect, as a
   * query, it comes with them. Not for what is too long to be one.
   */
  needsAnotherTry(request: FastifyRequest, text: string): boolean
  /**
   * Signs in, by a new cookie whatever the browser had before. Null for a user who was disabled or changed meanwhile, or is gone from where their
   * password is. The session is `pending` where policies require more, for `request` (default: for pages of ours): `session` does not know it then, and a page that
   * needs somebody leads to the steps that ask for the rest.
   */
  signIn(call: BrowserCall, signIn: BrowserSignIn, request?: ApprovalRequest): Promise<Session | null>
  /** Makes the browser, in which the user is signed in, one that they are known to come from. `signIn` does it too. */
  remember(call: BrowserCall, user: Pick<User, 'id' | 'username'>): void
  /** What shows that this account has signed in with the browser; null where nothing does, whether there is one of this name or not. */
  markOf(request: FastifyRequest, whom: Sought): Promise<string | null>
  /**
   * Takes the session cookie away that came; a page of another site, whose forms bring none, could else sign people
   * out. Ending the session is for `users` and `sessions` to do.
   */
  forget(call: BrowserCall): void
  /** A cookie of a plugin's own, under the attributes of ours. */
  cookie(name: string, options?: CookieOptions): Cookie
  /** Has it told, in the answer itself, who is signed in with the browser from then on; not of a session that ends elsewhere. */
  follow(follower: Follower): void
  /** What this browser is known by: 256 bits in a cookie, set when there is none. */
  id(call: BrowserCall): string
}

declare module 'fastify' {
  interface FastifyInstance {
    browser: Browser & {
      /** @internal Sign-ins that lack a factor, for the steps of a sign-in and for sign-out alone. */
      [STEPS]: Pick<SignedIn, 'unfinished' | 'raise' | 'adopt' | 'opened' | 'abandon'>
    }
  }
}

/** Longest form that is turned into a query, and what it may hold to stand in an address as it is. */
const MAX_QUERY = 8000
const QUERY = /^[\x21\x24-\x7e]*$/

async function browser(fastify: FastifyInstance): Promise<void> {
  const kernel = kernelOf(fastify)
  const { issuer, config, knownBrowsers } = kernel
  const cookies = await createCookies(issuer, config.basePath)
  const sessionCookies = { session: cookies.handle('session'), pending: cookies.handle('pending') }
  const idCookie = cookies.handle('browser')
  const knownCookie = cookies.named('known', { maxAge: KNOWN_FOR })
  /** What was set in answer to a request, for those who ask again before it is sent. */
  const given = new WeakMap<FastifyRequest, string>()

  function id(call: BrowserCall): string {
    const known = given.get(call.request) ?? idCookie.read(call.request)
    if (known !== undefined) return known
    const value = randomBytes(32).toString('base64url')
    given.set(call.request, value)
    idCookie.set(call, value)
    return value
  }

  const remember: Browser['remember'] = (call, user) =>
    knownCookie.set(call, knownBrowsers.remember(knownCookie.read(call.request), user))
  const markOf: Browser['markOf'] = async (request, whom) =>
    knownBrowsers.find(knownCookie.read(request), whom)
  const isNews = async (request: FastifyRequest, user: Pick<User, 'id' | 'username'>): Promise<boolean> =>
    config.NOTIFY_NEW_BROWSERS && (await markOf(request, user)) === null
  const followers: Follower[] = []
  const changed: Follower = (call, now) => followers.forEach((follower) => follower(call, now))
  const {
    session,
    sessionNow,
    signIn: begin,
    forget,
    ...steps
  } = createSignedIn(kernel, sessionCookies, remember, isNews, changed, id)

  /** Who is gone from where their password is comes in by nothing else either, and nothing is begun for them. */
  const signIn: Browser['signIn'] = async (call, given, asked) => {
    const user = await presentAt(fastify.oauth, given.user)
    return user === null ? null : begin(call, { ...given, user }, asked)
  }

  fastify.decorate('browser', {
    ...createGenuineForms(kernel, { of: id, read: idCookie.read }),
    [STEPS]: steps,
    session,
    sessionNow,
    signIn,
    forget,
    needsAnotherTry(request, text) {
      const site = request.headers['sec-fetch-site']
      const elsewhere = site === 'cross-site' || site === 'same-site'
      return (
        elsewhere &&
        sessionCookies.session.read(request) === undefined &&
        text.length <= MAX_QUERY &&
        QUERY.test(text)
      )
    },
    cookie: cookies.named,
    follow: (follower) => void followers.push(follower),
    remember,
    markOf,
    id,
  })
}

export default fp(browser, { name: 'latchkey-browser', dependencies: ['latchkey-oauth'] })
