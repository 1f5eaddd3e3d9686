/**
 * Sign-out at the upstream as well: who came from one that is registered with `sign_out` is led there when they sign out here (OpenID Connect
 * RP-Initiated Logout 1.0), and comes back to `/upstream/ID/signed-out`. The ID token that the upstream wants to see is kept sealed, for
 * the browser that has its handle in a cookie, as long as a sign-in may last.
 */
import type { FastifyInstance } from 'fastify'
import { decodeJwt } from 'jose'
import type { BrowserCall } from '../../src/doors/interaction.ts'
import { kernelOf } from '../../src/http/kernel-of.ts'
import { networkOf } from '../../src/protocol/network.ts'
import { Type } from '../../src/protocol/schema.ts'
import type { Upstream } from '../../src/services/upstreams/upstream-registry.ts'
import { UpstreamFailure } from './failures.ts'
import type { Provider } from './provider.ts'
import { tellOperator } from './tell.ts'

interface Kept {
  readonly upstream: string
  readonly user: string
  readonly idToken: string
}

export interface SignOuts {
  /** That this browser signs the user in by the upstream, which has proven them with this ID token, where it has any. */
  remember(upstream: Upstream, userId: string, idToken: string | undefined, call: BrowserCall): Promise<void>
}

/** Of one user, and of those who are on their way of one network: the oldest give way. */
const [MOST, MOST_AWAY] = [20, 1000]
/** Seconds for which somebody may be away. */
const AWAY = 600

export function addSignOut(fastify: FastifyInstance, provider: Provider): SignOuts {
  const { oauth, browser, pages } = fastify
  const { box, upstreams, config } = kernelOf(fastify)
  const lifetime = config.OIDC_SESSION_EXPIRE
  const kept = oauth.artifacts<Kept>('upstream-session', {
    lifetime,
    ofUsers: true,
    describe: ({ upstream }) => ({ upstream }),
  })
  const away = oauth.artifacts<{ next: string }>('upstream-sign-out', { lifetime: AWAY })
  const cookie = browser.cookie('upstream', { maxAge: lifetime })
  const contextOf = (upstream: string, user: string): string => `ID token of ${user} at ${upstream}`

  /** What this browser has; used up. */
  async function take(userId: string, call: BrowserCall): Promise<Kept | null> {
    const handle = cookie.read(call.request)
    if (handle === undefined) return null
    cookie.clear(call)
    const found = await kept.spend(handle)
    return found?.user === userId ? found : null
  }

  oauth.add('signOutWay', {
    name: 'upstream',
    async leave({ userId }, next, call) {
      const found = await take(userId, call)
      const upstream = (await upstreams.all()).find(({ id }) => id === found?.upstream)
      if (found === null || upstream?.sign_out !== true) return null
      const idToken = box.tryOpen(found.idToken, contextOf(found.upstream, userId))
      // Of the one that had this id before: who that was there is nobody else's business.
      if (idToken === null || decodeJwt(idToken).iss !== upstream.issuer) return null
      const owner = `network ${networkOf(call.request.ip)}`
      const state = await away.put({ next }, { owner, most: MOST_AWAY })
      if (state === false) return null
      try {
        return await provider.signOutUrl(upstream, { idToken, state })
      } catch (error) {
        if (!(error instanceof UpstreamFailure)) throw error
        // They are signed out here all the same.
        tellOperator(call.request.log, upstream, error)
        return null
      }
    },
  })

  pages.serve({
    path: '/upstream/:id/signed-out',
    query: Type.Object({ state: Type.Optional(Type.String({ maxLength: 4096 })) }),
    async show({ state = '' }, { reply }) {
      const found = state === '' ? null : await away.spend(state)
      return reply.redirect(found?.next ?? `${oauth.config.basePath}/end-session`, 303)
    },
  })

  return {
    async remember({ id, sign_out: signsOut }, userId, idToken, call) {
      if (signsOut !== true || idToken === undefined) return
      const sealed = box.seal(idToken, contextOf(id, userId))
      const handle = await kept.put(
        { upstream: id, user: userId, idToken: sealed },
        { owner: userId, most: MOST },
      )
      if (handle !== false) cookie.set(call, handle)
    },
  }
}
