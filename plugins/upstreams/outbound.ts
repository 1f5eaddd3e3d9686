/** How upstreams are asked by `openid-client`, whatever they speak: by the guarded way out, and never without https unless an operator says so. */
import type { FastifyInstance } from 'fastify'
import type * as Library from 'openid-client'
import type { Fetch } from '../../src/doors/outbound.ts'
import { kernelOf } from '../../src/http/kernel-of.ts'
import { isStorable } from '../../src/protocol/json.ts'

/** Seconds for which its metadata and keys are not asked for again. */
const FRESH = 60
/** Characters of a `sub` (OpenID Connect Core §2). */
const LONGEST_SUBJECT = 255

export function callbackOf({ oauth }: FastifyInstance, id: string): string {
  return `${oauth.issuer}/upstream/${id}/callback`
}

/** Throws for an address that no browser should be sent to. */
export function createAssertSafe(fastify: FastifyInstance): (url: URL, what: string) => void {
  const { UNSAFE_OUTBOUND_ORIGINS: unsafe } = kernelOf(fastify).config
  return (url, what) => {
    if (url.protocol !== 'https:' && !unsafe.includes(url.origin)) throw new Error(`its ${what} is not https`)
  }
}

/** Whether it can say who somebody is. */
export function isSubject(text: string): boolean {
  return text !== '' && text.length <= LONGEST_SUBJECT && isStorable(text)
}

/** RFC 6749 §A.12. Throws for a token that no header can have, since who sends that says it in the error, and the log would have it. */
export function assertSendable(accessToken: string): void {
  if (!/^[\x20-\x7e]+$/.test(accessToken)) throw new Error('its access token has characters that none has')
}

export function guarded(fetch: Fetch): Library.CustomFetch {
  return async (address, { method, headers, body }) => {
    const { accept = 'application/json', authorization } = headers
    // What anybody may read is kept.
    if (method === 'GET' && authorization === undefined)
      return fetch(address, { headers: { accept }, maxAge: FRESH })
    const sent = typeof body === 'string' || body instanceof URLSearchParams ? { body } : {}
    return fetch(address, { method: method === 'POST' ? 'POST' : 'GET', headers, ...sent })
  }
}
