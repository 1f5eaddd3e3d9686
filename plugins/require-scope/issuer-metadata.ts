// Finds an issuer's JWKS by its metadata: RFC 8414, and OpenID Connect Discovery where that is not served.
import { fetchJson, UnusableAnswer } from './fetch-json.ts'
import type { FetchOptions } from './fetch-json.ts'

/**
 * The two places where metadata may be, in the order in which they are tried: inserted before the issuer's path
 * (RFC 8414 §3.1), and appended to it (Discovery §4). A slash at the end of the path is dropped in both.
 */
export function metadataUrls(issuer: string): URL[] {
  const { origin, pathname } = new URL(issuer)
  const path = pathname.replace(/\/$/, '')
  return [
    new URL(`${origin}/.well-known/oauth-authorization-server${path}`),
    new URL(`${origin}${path}/.well-known/openid-configuration`),
  ]
}

/** Whether a URL names this machine, where plain http gives nothing away. */
export function isLoopback({ hostname }: URL): boolean {
  return hostname === 'localhost' || hostname === '[::1]' || /^127(?:\.\d{1,3}){3}$/.test(hostname)
}

/**
 * The issuer's `jwks_uri`.
 * @throws when no metadata can be had, or it speaks for another issuer (RFC 8414 §3.3), or its `jwks_uri` is unsafe
 */
export async function discoverJwksUri(
  issuer: string,
  insecureHttp: boolean,
  options: FetchOptions,
): Promise<URL> {
  const problems: UnusableAnswer[] = []
  for (const url of metadataUrls(issuer)) {
    try {
      const { document } = await fetchJson(url, options)
      return readJwksUri(document, issuer, insecureHttp)
    } catch (error) {
      if (!(error instanceof UnusableAnswer)) throw error
      problems.push(error)
    }
  }
  throw new UnusableAnswer(problems.map((problem) => problem.message).join('; '))
}

/**
 * The `jwks_uri` of a metadata document that is this issuer's own.
 * @throws {UnusableAnswer}
 */
export function readJwksUri(document: unknown, issuer: string, insecureHttp: boolean): URL {
  const { issuer: stated, jwks_uri: jwksUri } = (document ?? {}) as Record<string, unknown>
  if (stated !== issuer) {
    throw new UnusableAnswer(
      `the metadata is of issuer ${JSON.stringify(stated)}, not of ${JSON.stringify(issuer)}`,
    )
  }
  if (typeof jwksUri !== 'string' || !URL.canParse(jwksUri)) {
    throw new UnusableAnswer(`the metadata of ${issuer} has no usable jwks_uri`)
  }
  const url = new URL(jwksUri)
  const plain = url.protocol === 'http:' && (insecureHttp || (isLoopback(url) && isLoopback(new URL(issuer))))
  if (url.protocol === 'https:' || plain) return url
  throw new UnusableAnswer(`the jwks_uri of ${issuer} is not https`)
}
