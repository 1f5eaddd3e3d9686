/** The headers of a page, from one place. What is scripted, framed or loaded there is ours, whatever is in the page. */

/**
 * An `interaction` is a page on the way back to a client: its form may lead there by redirect, which `form-action`
 * would block, and a client that opened it in a popup keeps its handle. All others are a plain `page`.
 */
export type PageKind = 'page' | 'interaction'

/** Addresses at other origins that a page uses. */
export interface Sources {
  /** An image that it shows. */
  image?: string | null
  /** Where its form is posted. */
  form?: string
}

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

export function pageHeaders(issuer: string, kind: PageKind, sources: Sources): Record<string, string> {
  return {
    ...COMMON,
    'content-security-policy': contentSecurityPolicy(kind, sources),
    'cross-origin-opener-policy': kind === 'interaction' ? 'unsafe-none' : 'same-origin',
    ...(issuer.startsWith('https:') ? { 'strict-transport-security': `max-age=${TWO_YEARS}` } : {}),
  }
}

function contentSecurityPolicy(kind: PageKind, { image, form }: Sources): string {
  const images = ["'self'", sourceOf(image ?? '')].filter((one) => one !== null)
  const target = form === undefined ? (kind === 'page' ? "'self'" : null) : sourceOf(form)
  return [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    `img-src ${images.join(' ')}`,
    "font-src 'self'",
    "connect-src 'self'",
    "base-uri 'none'",
    "frame-ancestors 'none'",
    ...(target === null ? [] : [`form-action ${target}`]),
    "require-trusted-types-for 'script'",
  ].join('; ')
}

/** An address as a policy can name it: its origin; null for IPv6 addresses and apps' own schemes, which it cannot. */
function sourceOf(uri: string): string | null {
  if (!URL.canParse(uri)) return null
  const { protocol, hostname, origin } = new URL(uri)
  return /^https?:$/.test(protocol) && !hostname.startsWith('[') ? origin : null
}
