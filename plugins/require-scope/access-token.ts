// What a guarded route learns about its caller, and the seam behind which tokens are verified.
// Which audience and scopes a route asks for is the guard's business (guard.ts).

/** A verified access token (RFC 9068 §2.2). */
export interface AccessToken {
  /** `iss`: the authorization server that issued it. */
  readonly issuer: string
  /** `sub`: the user, or the client itself when no user is involved. */
  readonly subject: string
  /** `client_id`: whom it was issued to. */
  readonly clientId: string
  /** `scope`, split. Empty when the token has none. */
  readonly scopes: ReadonlySet<string>
  /** `aud`, always a list. */
  readonly audience: readonly string[]
  readonly issuedAt: Date
  /** The instant from which the token is no longer good; see `instantsOf` in expiry.ts. */
  readonly expiresAt: Date
  /** `jti`, absent only where its issuer may leave it out (`accept: ['no-jti']`). */
  readonly jti?: string | undefined
  /** Every claim under its wire name, frozen. */
  readonly claims: Readonly<Record<string, unknown>>
}

/**
 * A verifier may be of somebody whom no compiler corrects.
 * @throws {TypeError} for what the guard could not judge
 */
export function assertAccessToken(token: unknown): asserts token is AccessToken {
  const { scopes, audience, expiresAt, claims } = (token ?? {}) as Partial<AccessToken>
  const lacks =
    (typeof scopes?.has !== 'function' && 'scopes as a Set') ||
    (!Array.isArray(audience) && 'audience as a list') ||
    (typeof expiresAt?.getTime !== 'function' && 'expiresAt as a Date') ||
    ((typeof claims !== 'object' || claims === null) && 'claims as an object')
  if (lacks) throw new TypeError(`requireScope: the verifier answered no token that has ${lacks}`)
}

/**
 * Establishes that a token is genuine. The guard then judges expiry, audience and scopes, the same for every verifier.
 *
 * `verify` throws `BearerError` for a token that is no good, and `VerificationUnavailable` when it cannot tell.
 * Anything else that it throws is a fault of the verifier and reaches the app's error handler as it is.
 */
export interface Verifier {
  verify(token: string): Promise<AccessToken>
}
