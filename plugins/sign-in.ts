/**
 * `/sign-in`: for pages of ours that need to know who is there, where no client asks. They send people here with the
 * path to come back to; the page is that of the interaction's login, and so are its rules.
 */
import type { FastifyInstance, FastifyReply } from 'fastify'
import fp from 'fastify-plugin'
import type { Session } from '../src/doors/interaction.ts'
import { compileParameters } from '../src/protocol/parameters.ts'
import { Type } from '../src/protocol/schema.ts'
import { usernameKey } from '../src/protocol/username.ts'
import { parseForm } from '../src/protocol/wire.ts'
import { queryText } from '../src/http/forms.ts'
import { createPasswordSignIn, type RefusedSignIn } from './password-sign-in.ts'
import type { PageCall } from './pages/index.ts'

/**
 * `max_age` as in OpenID Connect Core §3.1.2.1: who signed in more seconds ago does it once more. `account=other` is for
 * who wants to be there as somebody else.
 */
const Query = Type.Object({
  return_to: Type.Optional(Type.String()),
  max_age: Type.Optional(Type.String()),
  account: Type.Optional(Type.String()),
})
/** Seconds since the sign-in. */
export const FRESH = 600
/** Encoded; one that is longer loses its query: proxies drop an answer whose headers take more than a few kilobytes. */
const LONGEST_PATH = 2000
/** What the page calls us, in the place of a client. */
const OURSELVES = {
  name: 'Latchkey',
  host: null,
  logoUri: null,
  policyUri: null,
  tosUri: null,
  homeUri: null,
}

/** The address that asks for sign-in, and for one not older than `maxAge` seconds, and then leads to `path`, a path of ours. */
export function signInAddress(basePath: string, path: string, maxAge?: number): string {
  return addressOf(basePath, path, maxAge === undefined ? {} : { max_age: String(maxAge) })
}

/** The same for who is signed in, and wants to be there as somebody else. */
export function otherAccountAddress(basePath: string, path: string): string {
  return addressOf(basePath, path, { account: 'other' })
}

function addressOf(basePath: string, path: string, asked: Readonly<Record<string, string>>): string {
  const fits = (one: string): boolean => encodeURIComponent(one).length <= LONGEST_PATH
  const to = [path, path.split('?', 1)[0]!].find(fits) ?? `${basePath}/`
  return `${basePath}/sign-in?${new URLSearchParams({ return_to: to, ...asked }).toString()}`
}

/** Whether the user has signed in within `FRESH` seconds: what a browser that was left open must not do asks for it. */
export function isFresh({ authenticatedAt }: Session): boolean {
  return Date.now() - authenticatedAt <= FRESH * 1000
}

async function signIn(fastify: FastifyInstance): Promise<void> {
  const { oauth, browser, pages } = fastify
  const signInByPassword = createPasswordSignIn(fastify)
  const parseQuery = compileParameters(Query)

  /** Only ever a path below the issuer's; normalized, so that what looks like one is one. */
  function pathOf({ request }: PageCall): string {
    const { return_to: given = '' } = parseQuery(parseForm(queryText(request)))
    const home = `${oauth.config.basePath}/`
    if (!URL.canParse(given, oauth.issuer)) return home
    const { origin, pathname, search } = new URL(given, oauth.issuer)
    const ours = origin === new URL(oauth.issuer).origin && pathname.startsWith(home)
    return ours && !pathname.startsWith('//') ? pathname + search : home
  }

  const wantsOther = ({ request }: PageCall): boolean =>
    parseQuery(parseForm(queryText(request))).account === 'other'

  function maxAgeOf({ request }: PageCall): number | undefined {
    const { max_age: seconds = '' } = parseQuery(parseForm(queryText(request)))
    return /^\d{1,9}$/.test(seconds) ? Number(seconds) : undefined
  }

  function isEnough(call: PageCall, session: Session | null): boolean {
    if (wantsOther(call)) return false
    const maxAge = maxAgeOf(call)
    if (session === null || maxAge === undefined) return session !== null
    return Date.now() - session.authenticatedAt <= maxAge * 1000
  }

  /** As by a double click: whom the form was to sign in is there. */
  async function isSentAgain(call: PageCall, session: Session | null): Promise<boolean> {
    if (session === null || !isEnough(call, session)) return false
    const user = await oauth.findUser(session.userId)
    const typed = call.wire['username']
    return user !== null && typeof typed === 'string' && usernameKey(typed) === usernameKey(user.username)
  }

  async function show(
    call: PageCall,
    session: Session | null,
    refused?: Partial<RefusedSignIn>,
  ): Promise<FastifyReply> {
    const user = session === null ? null : await oauth.users.get(session.userId)
    const { basePath } = oauth.config
    const other = wantsOther(call)
    const model = {
      action: other
        ? otherAccountAddress(basePath, pathOf(call))
        : signInAddress(basePath, pathOf(call), maxAgeOf(call)),
      csrfToken: browser.csrfToken(call, purposeOf(session)),
      client: OURSELVES,
      username: refused?.username ?? (other ? undefined : user?.username) ?? '',
      error: refused?.text ?? null,
      wait: refused?.wait ?? null,
      reauthenticate: user !== null && !other,
      knownUser: user?.username ?? null,
    }
    return call.reply.page('login', model, { status: refused?.status ?? 200 })
  }

  pages.serve({
    path: '/sign-in',
    query: Query,
    form: Type.Object({}),
    async show(_query, call): Promise<FastifyReply> {
      const session = await browser.session(call.request)
      return isEnough(call, session) ? call.reply.redirect(pathOf(call), 303) : show(call, session)
    },
    async submit(_form, call): Promise<FastifyReply> {
      const session = await browser.session(call.request)
      if (await isSentAgain(call, session)) {
        browser.assertGenuine(call, call.wire, purposeOf(session), purposeOf(null))
        return call.reply.redirect(pathOf(call), 303)
      }
      browser.assertGenuine(call, call.wire, purposeOf(session))
      const result = await signInByPassword(call.wire, call)
      return 'sid' in result ? call.reply.redirect(pathOf(call), 303) : show(call, session, result)
    },
    async again(_form, call): Promise<FastifyReply> {
      return show(call, await browser.session(call.request), {
        username: String(call.wire['username'] ?? ''),
      })
    },
  })
}

function purposeOf(session: Session | null): string {
  return `sign-in ${session?.sid ?? ''}`
}

export default fp(signIn, {
  name: 'latchkey-sign-in',
  dependencies: ['latchkey-oauth', 'latchkey-browser', 'latchkey-pages'],
})
