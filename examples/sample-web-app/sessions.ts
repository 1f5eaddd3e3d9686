/**
 * Who is signed in, in memory, by a random cookie. Cookies ignore ports: the name must differ from that of every other
 * program on this host. An app of several processes keeps its sessions in a store that they share.
 */
import type { FastifyReply, FastifyRequest } from 'fastify'
import { randomBytes } from 'node:crypto'
import type { Configuration } from 'openid-client'
import type { PendingSignIn, SignedIn } from './sign-in.ts'
import type { Step } from './steps.ts'

export interface Session {
  /** What the browser and the app said to the server, in order. */
  steps: Step[]
  config?: Configuration
  /** From the way to the server until the way back. */
  pending?: PendingSignIn
  /** What an API asked for a stronger sign-in for: tried again, once, on the way back. */
  retry?: string
  user?: SignedIn
  /** Said once, on the next page. */
  notice?: string
}

const COOKIE = 'bookshelf-session'
/** The oldest sessions make room. */
const MAX_SESSIONS = 1000

export interface Sessions {
  find(request: FastifyRequest): Session
  /** Under a new name: whoever knew the former one knows nothing. Also for a session that has none yet. */
  renew(request: FastifyRequest, reply: FastifyReply, session: Session): void
}

export function createSessions(): Sessions {
  const sessions = new Map<string, Session>()
  return {
    find: (request) => sessions.get(nameOf(request)) ?? { steps: [] },
    renew(request, reply, session) {
      sessions.delete(nameOf(request))
      const name = randomBytes(32).toString('base64url')
      sessions.set(name, session)
      for (const oldest of sessions.keys()) {
        if (sessions.size <= MAX_SESSIONS) break
        sessions.delete(oldest)
      }
      // Behind https it would be `__Host-…` and `Secure`. Lax, since the way back from the server is a link.
      void reply.header('set-cookie', `${COOKIE}=${name}; Path=/; HttpOnly; SameSite=Lax`)
    },
  }
}

function nameOf({ headers }: FastifyRequest): string {
  const pairs = (headers.cookie ?? '').split(';').map((pair) => pair.trim())
  return pairs.find((pair) => pair.startsWith(`${COOKIE}=`))?.slice(COOKIE.length + 1) ?? ''
}
