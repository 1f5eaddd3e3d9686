/**
 * How an upstream speaks: OpenID Connect, and then its metadata says the rest; or OAuth 2.0 alone, which has neither metadata nor ID tokens, so
 * that its endpoints are registered, or known here of a service that many have.
 */

export const KINDS = ['openid', 'oauth2', 'github', 'apple'] as const
export type UpstreamKind = (typeof KINDS)[number]

/** RFC 8414 §2, by which they are called. */
export const ENDPOINTS = ['authorization_endpoint', 'token_endpoint', 'userinfo_endpoint'] as const
export type Endpoints = Record<(typeof ENDPOINTS)[number], string>

/** RFC 7591 §2: how a client with a secret shows that it is itself. */
export const SECRET_METHODS = ['client_secret_basic', 'client_secret_post'] as const
export type SecretMethod = (typeof SECRET_METHODS)[number]

/** What is registered of the kind `oauth2` alone: of others their metadata says it, or it is known. */
export const OF_OAUTH = [...ENDPOINTS, 'token_endpoint_auth_method', 'subject_claim'] as const

/** What is registered of the kind `apple` alone: who Apple says that we are, and by which key. */
export const OF_APPLE = ['team_id', 'key_id'] as const

/** The issuer of Apple, as its metadata has it. */
export const APPLE = 'https://appleid.apple.com'
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

/** Whether it says who somebody is by a signed ID token, and has metadata. */
export function hasIdTokens(upstream: Pick<Spoken, 'kind'>): boolean {
  return ['openid', 'apple'].includes(kindOf(upstream))
}

/** Null where its metadata says them. */
export function endpointsOf(upstream: Spoken): Endpoints | null {
  const { issuer, authorization_endpoint, token_endpoint, userinfo_endpoint } = upstream
  if (hasIdTokens(upstream)) return null
  if (kindOf(upstream) === 'github')
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

/** What is known of a kind, and need not be registered. */
export const KNOWN_ISSUERS: { readonly [Kind in UpstreamKind]?: string } = { github: GITHUB, apple: APPLE }

/** The REST API of github.com and of tenants at ghe.com is another host; that of a GitHub Enterprise Server is a path of it. */
function gitHubApi(issuer: string): string {
  const { protocol, host, hostname } = new URL(issuer)
  const isHosted = hostname === 'github.com' || hostname.endsWith('.ghe.com')
  return isHosted ? `${protocol}//api.${host}` : `${protocol}//${host}/api/v3`
}
