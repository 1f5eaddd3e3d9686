/**
 * Who is signed in with a browser: by the cookie of a session, or by that of a sign-in that still lacks a factor. `session` never tells of
 * the latter; what does is for the steps of a sign-in alone (`STEPS`).
 */
import type { FastifyRequest } from 'fastify'
import type { ApprovalRequest } from '../../src/doors/approval.ts'
import type { BrowserCall, Session, Shown } from '../../src/doors/interaction.ts'
import { strongerAcr } from '../../src/protocol/acr.ts'
import type { Wire } from '../../src/protocol/wire.ts'
import type { Kernel } from '../../src/services/kernel.ts'
import { ownRequest } from '../../src/services/users/ourselves.ts'
import type { SignIn } from '../../src/services/users/session-beginnings.ts'
import type { User } from '../../src/services/users/user.ts'
import { createNextCookie } from './next-cookie.ts'
import { createSessionsByCookie, type Follower, type SessionCookies } from './sessions-by-cookie.ts'

export type BrowserSignIn = Pick<SignIn, 'amr' | 'acr' | 'authenticatedAt'> & {
  user: Pick<User, 'id' | 'updatedAt' | 'username'>
  /** What shows what is good once, or renews the session of who is signed in: sent twice, it leads to one session. */
  form?: Wire
  /** What was shown: it leads to one session in this browser, also once that one has ended, for as long as it may come again. */
  once?: string
}

export interface SignedIn {
  session(request: FastifyRequest): Promise<Session | null>
  sessionNow(request: FastifyRequest): Promise<Session | null>
  signIn(call: BrowserCall, signIn: BrowserSignIn, request?: ApprovalRequest): Promise<Session | null>
  /** The sign-in of this browser that lacks a factor, `pending`; null where there is none. */
  unfinished(request: FastifyRequest): Promise<Session | null>
  /**
   * Adds what was shown to a session, or to what may become one when nothing is missing for `request` any more: under a new cookie.
   * Null where it has ended meanwhile. `form` is what showed it: sent twice, it leads to one session.
   */
  raise(
    call: BrowserCall,
    session: Session,
    shown: Shown,
    request: ApprovalRequest,
    form?: Wire,
  ): Promise<Session | null>
  /**
   * Where the form has been sent before, as by a double click, and its session rose under another cookie: gives that one again, and
   * returns its session, pending or not.
   */
  adopt(call: BrowserCall, form: Wire): Promise<Session | null>
  /** The session that is open, whatever policies find missing of it by now: for who ends it. */
  opened(request: FastifyRequest): Promise<Session | null>
  /** Ends the sign-in that lacks a factor. */
  abandon(call: BrowserCall): Promise<void>
  forget(call: BrowserCall): void
}

/** @internal */
export function createSignedIn(
  kernel: Kernel,
  cookies: SessionCookies,
  remember: (call: BrowserCall, user: Pick<User, 'id' | 'username'>) => void,
  /** Whether it is to be noted that this account has not signed in with the browser before. */
  isNews: (request: FastifyRequest, user: Pick<User, 'id' | 'username'>) => Promise<boolean>,
  changed: Follower,
  /** What tells the browser apart before anybody is signed in. */
  idOf: (call: BrowserCall) => string,
): SignedIn {
  const { sessions, pendingSessions, assurance, directory, box } = kernel
  const byCookie = createSessionsByCookie(kernel, cookies, changed)
  const { findSession, findPending, open, wait, forgetPending } = byCookie
  const next = createNextCookie(box)

  const isUnmet = async (request: FastifyRequest, session: Session): Promise<boolean> =>
    (await assurance.missing(session.userId, session, ownRequest(), { of: request })).length > 0

  function asActor(request: FastifyRequest, session: Session): Session {
    request.actor = { kind: 'user', id: session.userId }
    return session
  }

  const originOf = ({ request: { ip, headers } }: BrowserCall) => ({
    userAgent: headers['user-agent'],
    address: ip,
  })

  /** What `token` rose to by the form. */
  async function risenBy(call: BrowserCall, token: string, form?: Wire): Promise<Session | null> {
    if (form === undefined) return null
    for (const value of next.ledTo(call, token, form)) {
      const session = await sessions.find(value)
      if (session !== null) {
        forgetPending(call)
        return open(call, { token: value, session })
      }
      const pending = await pendingSessions.find(value)
      if (pending !== null) return wait(call, { token: value, session: pending })
    }
    return null
  }

  async function session(request: FastifyRequest): Promise<Session | null> {
    const found = await findSession(request)
    if (found === null || (await isUnmet(request, found))) return null
    return asActor(request, found)
  }

  return {
    session,

    async sessionNow(request) {
      byCookie.lookAgain(request)
      return session(request)
    },

    async signIn(call, signIn, asked = ownRequest()) {
      const { user, amr, acr = null, form } = signIn
      const once = signIn.once === undefined ? undefined : `${idOf(call)}\0${signIn.once}`
      call.request.actor = { kind: 'user', id: user.id }
      const from = { ...signIn, ...originOf(call) }
      const former = cookies.pending.read(call.request)
      const isMissing = async (): Promise<boolean> =>
        (await assurance.missing(user.id, { amr, acr }, asked, { of: call.request, letsOn: true })).length > 0
      const before = cookies.session.read(call.request)
      const known = form === undefined ? '' : (before ?? former ?? idOf(call))
      const value = form === undefined ? undefined : next.after(call, known, form)
      // Of the same form at once one starts it; one that comes a little later may come in the next turn of what leads there.
      const rise = async () => (value === undefined ? null : risenBy(call, known, form))
      const begin = async (): Promise<Session | null> => {
        const pending = await pendingSessions.begin(from, former, { token: value, once })
        return pending === null ? rise() : wait(call, pending)
      }
      const risenBefore = await rise()
      if (risenBefore !== null) return risenBefore
      if (await isMissing()) return begin()
      const newBrowser = await isNews(call.request, user)
      const started = await sessions.start({ ...from, newBrowser }, before, { token: value, once })
      if (started === null) {
        const risen = await rise()
        if (risen !== null) return risen
        // Another process knew of the user what this one has not heard yet.
        await directory.renewUser(user.id)
        return (await isMissing()) ? begin() : null
      }
      if (former !== undefined) await pendingSessions.end(former)
      forgetPending(call)
      remember(call, user)
      return open(call, started)
    },

    async unfinished(request) {
      const pending = await findPending(request)
      if (pending !== null) return pending
      const session = await findSession(request)
      return session !== null && (await isUnmet(request, session)) ? { ...session, pending: true } : null
    },

    async raise(call, session, shown, asked, form) {
      const { request } = call
      const factors = {
        amr: [...new Set([...session.amr, ...shown.amr])],
        acr: strongerAcr(session.acr, shown.acr ?? null),
      }
      request.actor = { kind: 'user', id: session.userId }
      const token = cookies.pending.read(request)
      if (token === undefined || (await findPending(request))?.sid !== session.sid) {
        const former = cookies.session.read(request)
        if (former === undefined) return null
        const raised = await sessions.raise(former, session, factors, next.after(call, former, form))
        if (raised !== null) return open(call, raised)
        return risenBy(call, former, form)
      }
      const isMissing = async (): Promise<boolean> =>
        (await assurance.missing(session.userId, factors, asked, { of: request, letsOn: true })).length > 0
      const rise = async (): Promise<Session | null> => {
        const raised = await pendingSessions.raise(token, session, factors, next.after(call, token, form))
        if (raised !== null) return wait(call, raised)
        return risenBy(call, token, form)
      }
      if (await isMissing()) return rise()
      const { amr, acr } = factors
      const user = await directory.findUser(session.userId)
      const newBrowser = user !== null && (await isNews(request, user))
      const signIn = { amr, ...(acr === null ? {} : { acr }), ...originOf(call), newBrowser }
      const completed = await pendingSessions.complete(
        token,
        signIn,
        next.after(call, token, form),
        cookies.session.read(request),
      )
      if (completed === null) {
        const risen = await risenBy(call, token, form)
        if (risen !== null) return risen
        await directory.renewUser(session.userId)
        return (await isMissing()) ? rise() : null
      }
      forgetPending(call)
      if (user !== null) remember(call, user)
      return open(call, completed)
    },

    async adopt(call, form) {
      const { request } = call
      byCookie.lookAgain(request)
      for (const [cookie, findNow] of [
        [cookies.pending, findPending],
        [cookies.session, findSession],
      ] as const) {
        const token = cookie.read(request)
        if (token === undefined || (await findNow(request)) !== null) continue
        const risen = await risenBy(call, token, form)
        if (risen !== null) return risen
      }
      return null
    },

    async opened(request) {
      const session = await findSession(request)
      return session === null ? null : asActor(request, session)
    },

    async abandon({ request }) {
      const token = cookies.pending.read(request)
      if (token !== undefined) await pendingSessions.end(token)
    },

    forget: byCookie.forget,
  }
}
