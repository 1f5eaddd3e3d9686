/**
 * `oauth.fetch`: the one way out of this server, to addresses that others chose. What an address may be and
 * which redirects are followed is decided here; how many requests are under way, in `places.ts`; what may be connected to, in `exchange.ts`.
 */
import type { Config } from '../../config.ts'
import { type Fetch, OutboundError, type OutboundRequest } from '../../doors/outbound.ts'
import { isPublicAddress } from '../../protocol/public-address.ts'
import { type Answer, type Asked, exchange, type Guard, type Way } from './exchange.ts'
import { createKeptAnswers } from './kept-answers.ts'
import { createPlaces } from './places.ts'
import { createResolve } from './resolver.ts'

export interface GuardedFetchOptions extends Partial<Guard> {
  /** That may be private or plain http: UNSAFE_OUTBOUND_ORIGINS. */
  unsafeOrigins: readonly string[]
  /** By which all others are asked: OUTBOUND_PROXY. */
  proxy?: string | undefined
  /** Milliseconds by a clock that is not set; by default `performance.now()`. */
  now?: () => number
  /** Milliseconds for a request with all that it is redirected to. */
  limit?: number
}

/** As the settings say. */
export const outboundOf = (
  config: Pick<Config, 'UNSAFE_OUTBOUND_ORIGINS' | 'OUTBOUND_PROXY'>,
): GuardedFetchOptions => ({
  unsafeOrigins: config.UNSAFE_OUTBOUND_ORIGINS,
  proxy: config.OUTBOUND_PROXY,
})

const LIMIT = 5000
const MOST_REDIRECTS = 5
/** Characters of an origin that a reason quotes; a host by DNS has 253 at most. */
const MOST_ORIGIN = 270
/** Bytes of an answer, where its caller says nothing, and where it asks for more. */
const USUAL_BYTES = 65_536
const MOST_BYTES = 1_048_576
const REDIRECTS = new Set([301, 302, 303, 307, 308])
/** What a redirect to another origin does not carry along. */
const FOR_ONE_ORIGIN = /^(?:authorization|cookie|proxy-authorization)$/i

export function createGuardedFetch(options: GuardedFetchOptions): Fetch {
  const { unsafeOrigins, now = () => performance.now(), limit = LIMIT, isPublic = isPublicAddress } = options
  const guard: Guard = { resolve: options.resolve ?? createResolve(), isPublic }
  const unsafe = new Set(unsafeOrigins)
  const outside: Way = { guard, ...(options.proxy === undefined ? {} : { proxy: new URL(options.proxy) }) }
  const kept = createKeptAnswers(now)
  const inPlace = createPlaces()

  function check(url: URL): URL {
    if (url.username !== '' || url.password !== '') throw new OutboundError('the address holds credentials')
    if (url.protocol !== 'https:' && !unsafe.has(url.origin))
      throw new OutboundError(`the address is not https${remedyOf(url)}`)
    return url
  }

  async function once(asked: Asked, byAnybody: boolean, signal: AbortSignal): Promise<Answer> {
    const { origin } = asked.url
    return inPlace(origin, byAnybody, async () => exchange(asked, unsafe.has(origin) ? {} : outside, signal))
  }

  async function follow(asked: Asked, redirects: number, byAnybody: boolean): Promise<Answer> {
    const signal = AbortSignal.timeout(limit)
    let at = asked
    for (let left = redirects; ; left--) {
      const answer = await once(at, byAnybody, signal)
      const location = answer.headers.get('location')
      if (redirects === 0 || !REDIRECTS.has(answer.status) || location === null) return answer
      if (left === 0) throw new OutboundError('it redirects too often')
      const url = check(parse(location, at.url))
      at = { ...at, url, headers: url.origin === at.url.origin ? at.headers : without(at.headers) }
    }
  }

  return async (address, request = {}) => {
    const { method = 'GET', headers = {}, body } = request
    const { maxAge = Number.POSITIVE_INFINITY, staleIfError = true, byAnybody = false } = request
    const maxBytes = Math.min(request.maxBytes ?? USUAL_BYTES, MOST_BYTES)
    const redirects = redirectsOf(method, request)
    const url = check(parse(address))
    url.hash = ''
    const asked: Asked = { url, method, headers: { 'user-agent': 'latchkey', ...headers }, body, maxBytes }
    if (method === 'POST' || !isPlain(request)) return toResponse(await follow(asked, redirects, byAnybody))
    const key = JSON.stringify([url.href, headers['accept'] ?? '', redirects])
    return toResponse(
      await kept.get(key, { maxAge: maxAge * 1000, staleIfError }, async (conditions) =>
        follow({ ...asked, headers: { ...asked.headers, ...conditions } }, redirects, byAnybody),
      ),
    )
  }
}

/** Throws `TypeError` for what no caller may ask. */
function redirectsOf(method: string, { redirects = 0, body }: OutboundRequest): number {
  if (redirects > 0 && method !== 'GET') throw new TypeError('only a GET follows redirects')
  if (body !== undefined && method === 'GET') throw new TypeError('a GET has no body')
  return Math.min(redirects, MOST_REDIRECTS)
}

/** Names the setting where that would do. */
function remedyOf({ protocol, origin }: URL): string {
  const wouldDo = protocol === 'http:' && origin.length <= MOST_ORIGIN
  return wouldDo ? `; UNSAFE_OUTBOUND_ORIGINS=${origin} lets it be asked` : ''
}

function parse(address: string | URL, base?: URL): URL {
  const url = URL.parse(address, base)
  if (url === null) throw new OutboundError('the address is no URL')
  return url
}

/** Whether others may have the same answer. */
function isPlain({ headers = {}, maxBytes }: OutboundRequest): boolean {
  return maxBytes === undefined && Object.keys(headers).every((name) => name === 'accept')
}

function without(headers: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).filter(([name]) => !FOR_ONE_ORIGIN.test(name)))
}

/** Each caller gets one of their own. */
function toResponse({ status, headers, body }: Answer): Response {
  const bodiless = status === 204 || status === 205 || status === 304
  return new Response(bodiless ? null : body, { status, headers })
}
