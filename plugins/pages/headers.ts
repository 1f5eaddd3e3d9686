/** The headers of a page, from one place. What is scripted, framed or loaded there is ours, whatever is in the page. */

/**
 * An `interaction` is a page on the way back to a client: its form leads there, by redirects that `form-action` would
 * have to name one by one, and a client that opened it in a popup keeps its handle. All others are a plain `page`.
 */
export type PageKind = 'page' | 'interaction'

const COMMON = {
  'content-type': 'text/html; charset=utf-8',
  'cache-control': 'no-store',
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
  // With `no-referrer`, browsers send `Origin: null` with our own forms, which looks like a forgery.
  'referrer-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'permissions-policy':
    'accelerometer=(), autoplay=(), camera=(), display-capture=(), geolocation=(), gyroscope=(), magnetometer=(), microphone=(), midi=(), payment=(), usb=()',
} as const
/** Seconds. */
const TWO_YEARS = 63_072_000

/** What of a page its headers are made from. */
export interface HeaderFacts {
  readonly kind: PageKind
  /** Origins that the page may load pictures from, beside ours. */
  readonly images: readonly string[]
  /** Origins of which the page has frames. */
  readonly frames: readonly string[]
  /** Whether its form may lead to another site. */
  readonly leadsAway: boolean
  /** Whether its form is for another site, which is then told our origin, and no address. */
  readonly postsAway: boolean
}

export function pageHeaders(issuer: string, facts: HeaderFacts): Record<string, string> {
  const { kind } = facts
  return {
    ...COMMON,
    // Apps judge by `Origin` who posts to them from another site, and `iss` tells them as much.
    ...(facts.postsAway ? { 'referrer-policy': 'strict-origin' } : {}),
    'content-security-policy': contentSecurityPolicy(facts),
    'cross-origin-opener-policy': kind === 'interaction' ? 'unsafe-none' : 'same-origin',
    ...(issuer.startsWith('https:') ? { 'strict-transport-security': `max-age=${TWO_YEARS}` } : {}),
  }
}

/**
 * The origin of a picture or a frame, where a policy can name it: a host may hold characters by which a policy goes on (CSP Level 3 §2.3.1,
 * `host-char`). Null for others, which are not loaded then.
 */
export function policySource(address: string): string | null {
  const origin = URL.parse(address)?.origin ?? ''
  return /^https?:\/\/[\w.-]+(?::\d+)?$/.test(origin) ? origin : null
}

function contentSecurityPolicy({ kind, images, frames, leadsAway }: HeaderFacts): string {
  return [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    ["img-src 'self'", ...images].join(' '),
    "font-src 'self'",
    "connect-src 'self'",
    ...(frames.length > 0 ? [['frame-src', ...frames].join(' ')] : []),
    "base-uri 'none'",
    "frame-ancestors 'none'",
    ...(kind === 'page' && !leadsAway ? ["form-action 'self'"] : []),
    "require-trusted-types-for 'script'",
  ].join('; ')
}
