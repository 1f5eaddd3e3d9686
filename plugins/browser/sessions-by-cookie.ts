/**
 * What the two cookies of a browser open: a session, and a sign-in that still lacks a factor. What a request came with is looked up once,
 * and is what its answer sets from then on, for the page as for the plugin that answers with it.
 */
import type { FastifyRequest } from 'fastify'
import type { BrowserCall, Session } from '../../src/doors/interaction.ts'
import type { Kernel } from '../../src/services/kernel.ts'
import type { Cookie } from './cookies.ts'

/** Told of who is signed in with a browser from this answer on; null for nobody. */
export type Follower = (call: BrowserCall, session: Session | null) => void

export interface SessionCookies {
  readonly session: Cookie
  /** Of a sign-in that lacks a factor. */
  readonly pending: Cookie
}

/** What a cookie opens from now on. */
interface Opening {
  readonly token: string
  readonly session: Session
}

export interface SessionsByCookie {
  /** Whatever policies find missing of it. */
  findSession(request: FastifyRequest): Promise<Session | null>
  findPending(request: FastifyRequest): Promise<Session | null>
  /** Has both looked up anew. */
  lookAgain(request: FastifyRequest): void
  /** From here on the browser is signed in by it. */
  open(call: BrowserCall, opening: Opening): Session
  /** From here on its sign-in lacks a factor. */
  wait(call: BrowserCall, opening: Opening): Session
  forgetPending(call: BrowserCall): void
  forget(call: BrowserCall): void
}

type Known = WeakMap<FastifyRequest, Promise<Session | null>>

/** @internal */
export function createSessionsByCookie(
  { sessions, pendingSessions }: Pick<Kernel, 'sessions' | 'pendingSessions'>,
  cookies: SessionCookies,
  changed: Follower,
): SessionsByCookie {
  const [opened, begun]: readonly [Known, Known] = [new WeakMap(), new WeakMap()]

  async function find(
    request: FastifyRequest,
    known: Known,
    cookie: Cookie,
    load: (token: string) => Promise<Session | null>,
  ): Promise<Session | null> {
    if (!known.has(request)) {
      const token = cookie.read(request)
      if (token === undefined) return null
      known.set(request, load(token))
    }
    return known.get(request)!
  }

  function forgetPending(call: BrowserCall): void {
    cookies.pending.clear(call)
    begun.set(call.request, Promise.resolve(null))
  }

  return {
    findSession: async (request) => find(request, opened, cookies.session, sessions.find),
    findPending: async (request) => find(request, begun, cookies.pending, pendingSessions.find),
    lookAgain(request) {
      for (const known of [opened, begun]) known.delete(request)
    },
    open(call, { token, session }) {
      cookies.session.set(call, token)
      opened.set(call.request, Promise.resolve(session))
      changed(call, session)
      return session
    },
    wait(call, { token, session }) {
      cookies.pending.set(call, token)
      begun.set(call.request, Promise.resolve(session))
      return session
    },
    forgetPending,
    forget(call) {
      forgetPending(call)
      opened.set(call.request, Promise.resolve(null))
      cookies.session.clear(call)
      changed(call, null)
    },
  }
}
