/**
 * How an upstream speaks: OpenID Connect, and then its metadata says the rest; or OAuth 2.0 alone, which has neither metadata nor ID tokens, so
 * that its endpoints are registered, or known here of a service that many have.
 */

export const KINDS = ['openid', 'oauth2', 'github'] as const
export type UpstreamKind = (typeof KINDS)[number]

/** RFC 8414 §2, by which they are called. */
export const ENDPOINTS = ['authorization_endpoint', 'token_endpoint', 'userinfo_endpoint'] as const
export type Endpoints = Record<(typeof ENDPOINTS)[number], string>

/** RFC 7591 §2: how a client with a secret shows that it is itself. */
export const SECRET_METHODS = ['client_secret_basic', 'client_secret_post'] as const
export type SecretMethod = (typeof SECRET_METHODS)[number]

/** What is registered of the kind `oauth2` alone: of others their metadata says it, or it is known. */
export const OF_OAUTH = [...ENDPOINTS, 'token_endpoint_auth_method', 'subject_claim'] as const

/** The issuer of github.com, as its metadata has it. */
export const GITHUB = 'https://github.com/login/oauth'
/** What the issuer of every GitHub ends with: its endpoints lie below. */
export const GITHUB_PATH = '/login/oauth'

/** What is registered of an upstream, so far as it says how that speaks; a member that is null says nothing. */
export type Spoken = { readonly issuer: string; readonly kind?: string | null | undefined } & {
  readonly [Name in keyof Endpoints]?: string | null | undefined
}

/** One that says nothing of it speaks OpenID Connect, as all did once. */
export function kindOf({ kind }: Pick<Spoken, 'kind'>): UpstreamKind {
  return KINDS.find((one) => one === kind) ?? 'openid'
}

/** Null where its metadata says them. */
export function endpointsOf(upstream: Spoken): Endpoints | null {
  const { issuer, authorization_endpoint, token_endpoint, userinfo_endpoint } = upstream
  const kind = kindOf(upstream)
  if (kind === 'openid') return null
  if (kind === 'github')
    return {
      authorization_endpoint: `${issuer}/authorize`,
      token_endpoint: `${issuer}/access_token`,
      userinfo_endpoint: `${gitHubApi(issuer)}/user`,
    }
  return {
    authorization_endpoint: authorization_endpoint!,
    token_endpoint: token_endpoint!,
    userinfo_endpoint: userinfo_endpoint!,
  }
}

/** The REST API of github.com and of tenants at ghe.com is another host; that of a GitHub Enterprise Server is a path of it. */
function gitHubApi(issuer: string): string {
  const { protocol, host, hostname } = new URL(issuer)
  const isHosted = hostname === 'github.com' || hostname.endsWith('.ghe.com')
  return isHosted ? `${protocol}//api.${host}` : `${protocol}//${host}/api/v3`
}
