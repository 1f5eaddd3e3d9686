/**
 * Decorates `fastify.browser`: who is signed in with a browser, and whether a form came from a page of ours. Four
 * cookies: one opens the session, one what lacks a factor still, one tells browsers apart before anybody is signed in, and one keeps marks of the accounts
 * that have signed in there, after they have signed out too.
 */
import cookie from '@fastify/cookie'
import { fastify as createApp, type FastifyInstance, type FastifyRequest } from 'fastify'
import fp from 'fastify-plugin'
import { randomBytes } from 'node:crypto'
import type { ApprovalRequest } from '../src/doors/approval.ts'
import type { Session } from '../src/doors/interaction.ts'
import type { BrowserCall } from '../src/doors/interaction.ts'
import { OAuthError } from '../src/protocol/errors.ts'
import type { Wire } from '../src/protocol/wire.ts'
import { KNOWN_FOR } from '../src/services/users/known-browsers.ts'
import type { User } from '../src/services/users/user.ts'
import { kernelOf } from '../src/http/kernel-of.ts'
import { ExpiredForm } from './pages/expired-form.ts'
import { type BrowserSignIn, type Cookie, createSignedIn, type Follower, type SignedIn } from './signed-in.ts'

export type { BrowserSignIn, Cookie, Follower } from './signed-in.ts'
/** Not for strangers: it tells of sign-ins that lack a factor. */
export const STEPS = Symbol('latchkey: steps of a sign-in')

export interface Browser {
  /** Null when nobody is signed in. */
  session(request: FastifyRequest): Promise<Session | null>
  /**
   * Whether a form (its text) came from another site, and so without cookies: sent here again by a redirect, as a
   * query, it comes with them. Not for what is too long to be one.
   */
  needsAnotherTry(request: FastifyRequest, text: string): boolean
  /**
   * Signs in, by a new cookie whatever the browser had before. Null for a user who was disabled or changed meanwhile. The session is
   * `pending` where policies require more, for `request` (default: for pages of ours): `session` does not know it then, and a page that
   * needs somebody leads to the steps that ask for the rest.
   */
  signIn(call: BrowserCall, signIn: BrowserSignIn, request?: ApprovalRequest): Promise<Session | null>
  /** Makes the browser, in which the user is signed in, one that they are known to come from. `signIn` does it too. */
  remember(call: BrowserCall, user: Pick<User, 'username'>): void
  /** What shows that this account has signed in with the browser; null where nothing does, whether it exists or not. */
  markOf(request: FastifyRequest, username: string): Promise<string | null>
  /**
   * Takes the session cookie away that came; a page of another site, whose forms bring none, could else sign people
   * out. Ending the session is for `users` and `sessions` to do.
   */
  forget(call: BrowserCall): void
  /**
   * A cookie of a plugin's own, under the attributes of ours; it lasts for `maxAge` seconds, by default as long as the browser is open. One that
   * is `readable` is there for scripts, also in a frame of ours in another site's page: nothing may open by it.
   */
  cookie(name: string, options?: { maxAge?: number; readable?: boolean }): Cookie
  /** Has it told, in the answer itself, who is signed in with the browser from then on; not of a session that ends elsewhere. */
  follow(follower: Follower): void
  /** What this browser is known by: 256 bits in a cookie, set when there is none. */
  id(call: BrowserCall): string
  /** For the field `csrf_token` of a form with this `purpose`. */
  csrfToken(call: BrowserCall, purpose: string): string
  /** Throws `access_denied` (403) for a form from another site. Enough for one that does nothing but show a page. */
  assertFromHere(call: BrowserCall): void
  /**
   * Throws `access_denied` (403) unless the form came from a page of ours, in this browser, for one of these purposes;
   * one that has expired leads back to where it came from.
   */
  assertGenuine(call: BrowserCall, wire: Wire, ...purposes: readonly string[]): void
}

declare module 'fastify' {
  interface FastifyInstance {
    browser: Browser & {
      /** @internal Sign-ins that lack a factor, for the steps of a sign-in alone. */
      [STEPS]: Pick<SignedIn, 'unfinished' | 'raise' | 'adopt' | 'abandon'>
    }
  }
}

/** Longest form that is turned into a query, and what it may hold to stand in an address as it is. */
const MAX_QUERY = 8000
const QUERY = /^[\x21\x24-\x7e]*$/
const VALUE = /^[A-Za-z0-9_-]{43}$/

async function browser(fastify: FastifyInstance): Promise<void> {
  const { issuer, config, box, knownBrowsers } = kernelOf(fastify)
  const { origin: issuerOrigin, protocol } = new URL(issuer)
  const secure = protocol === 'https:'
  // The prefix makes browsers refuse one that another host of the domain planted (RFC 6265bis §4.1.3.2).
  const prefix = secure ? '__Host-' : ''
  const SESSION = `${prefix}latchkey-session`
  const PENDING = `${prefix}latchkey-pending`
  const BROWSER = `${prefix}latchkey-browser`
  const KNOWN = `${prefix}latchkey-known`
  const path = secure ? '/' : config.basePath || '/'
  const attributes = { path, httpOnly: true, secure, sameSite: 'lax' } as const
  const jar = await cookieFunctions()
  /** What was set in answer to a request, for those who ask again before it is sent. */
  const given = new WeakMap<FastifyRequest, string>()

  function cookieOf({ headers }: FastifyRequest, name: string): string | undefined {
    return headers.cookie === undefined ? undefined : jar.parse(headers.cookie)[name]
  }

  function read(request: FastifyRequest, name: string): string | undefined {
    const value = cookieOf(request, name)
    return value !== undefined && VALUE.test(value) ? value : undefined
  }

  function id({ request, reply }: BrowserCall): string {
    const known = given.get(request) ?? read(request, BROWSER)
    if (known !== undefined) return known
    const value = randomBytes(32).toString('base64url')
    given.set(request, value)
    void reply.header('set-cookie', jar.serialize(BROWSER, value, attributes))
    return value
  }

  function remember({ request, reply }: BrowserCall, user: Pick<User, 'username'>): void {
    const marks = knownBrowsers.remember(cookieOf(request, KNOWN), user)
    void reply.header('set-cookie', jar.serialize(KNOWN, marks, { ...attributes, maxAge: KNOWN_FOR }))
  }

  /** The issuer's, whatever Host a proxy passes on; without https, as on a developer's machine, also by another name. */
  const isOurs = (origin: string, { host = '' }: FastifyRequest['headers']): boolean =>
    origin === issuerOrigin || (!secure && origin === `http://${host}`)

  /** A page of another site cannot forge these headers; browsers that send none are left to the token. */
  function assertSameOrigin({ headers }: FastifyRequest): void {
    const { origin, 'sec-fetch-site': site = 'same-origin' } = headers
    const ours = origin === undefined || isOurs(origin, headers)
    if (!ours || (site !== 'same-origin' && site !== 'none')) throw forged()
  }

  /** The path of the page that the form stood on; null where the browser does not say, or says another site's. */
  function pageBefore({ headers }: FastifyRequest): string | null {
    const { referer = '' } = headers
    if (!URL.canParse(referer)) return null
    const { origin, pathname, search } = new URL(referer)
    const ours = isOurs(origin, headers) && pathname.startsWith(`${config.basePath}/`)
    return ours && !pathname.startsWith('//') ? pathname + search : null
  }

  function cookieNamed(
    name: string,
    { readable = false, ...lasting }: { maxAge?: number; readable?: boolean } = {},
  ): Cookie {
    // Without https, browsers send none with a frame of another site.
    const sameSite = secure ? ('none' as const) : attributes.sameSite
    const own = readable ? { ...attributes, httpOnly: false, sameSite } : attributes
    return {
      name,
      read: (request) => cookieOf(request, name),
      set: ({ reply }, value) =>
        void reply.header('set-cookie', jar.serialize(name, value, { ...own, ...lasting })),
      clear({ request, reply }) {
        if (cookieOf(request, name) !== undefined)
          void reply.header('set-cookie', jar.serialize(name, '', { ...own, maxAge: 0 }))
      },
    }
  }
  /** Of 256 random bits. */
  const handleNamed = (name: string): Cookie => ({
    ...cookieNamed(name),
    read: (request) => read(request, name),
  })
  const cookies = { session: handleNamed(SESSION), pending: handleNamed(PENDING) }
  const markOf: Browser['markOf'] = async (request, username) =>
    knownBrowsers.find(cookieOf(request, KNOWN), username)
  const isNews = async (request: FastifyRequest, { username }: Pick<User, 'username'>): Promise<boolean> =>
    config.NOTIFY_NEW_BROWSERS && (await markOf(request, username)) === null
  const followers: Follower[] = []
  const changed: Follower = (call, now) => followers.forEach((follower) => follower(call, now))
  const kernel = kernelOf(fastify)
  const { session, signIn, forget, ...steps } = createSignedIn(kernel, cookies, remember, isNews, changed)

  fastify.decorate('browser', {
    [STEPS]: steps,
    session,
    signIn,
    forget,
    needsAnotherTry(request, text) {
      const site = request.headers['sec-fetch-site']
      const elsewhere = site === 'cross-site' || site === 'same-site'
      return elsewhere && read(request, SESSION) === undefined && text.length <= MAX_QUERY && QUERY.test(text)
    },
    cookie: (name, options) => cookieNamed(`${prefix}latchkey-${name}`, options),
    follow: (follower) => void followers.push(follower),
    remember,
    markOf,
    id,
    csrfToken: (call, purpose) => box.hash(csrfOf(purpose, id(call))),
    assertFromHere: ({ request }) => assertSameOrigin(request),
    assertGenuine({ request }, wire, ...purposes) {
      assertSameOrigin(request)
      const [value, token] = [read(request, BROWSER), wire['csrf_token']]
      const isGenuine =
        value !== undefined &&
        typeof token === 'string' &&
        purposes.some((purpose) => box.matches(csrfOf(purpose, value), token))
      if (!isGenuine) throw new ExpiredForm(pageBefore(request))
    },
  })
}

function csrfOf(purpose: string, browserId: string): string {
  return `csrf\0${purpose}\0${browserId}`
}

function forged(): OAuthError {
  return new OAuthError('access_denied', 'the form did not come from a page of ours; go back and try again')
}

/**
 * Only the functions of the cookie plugin, by an app that nobody asks anything: its hooks would run on every route that
 * is nobody's page, and an app that has it already cannot have it twice.
 */
async function cookieFunctions(): Promise<{
  parse: FastifyInstance['parseCookie']
  serialize: FastifyInstance['serializeCookie']
}> {
  const app = createApp()
  await app.register(cookie, { hook: false })
  return { parse: app.parseCookie.bind(app), serialize: app.serializeCookie.bind(app) }
}

export default fp(browser, { name: 'latchkey-browser', dependencies: ['latchkey-oauth'] })
