/** What is said to an upstream and what it answers, whatever it speaks. */
import type { LinkedSubject } from '../../src/protocol/upstream-link.ts'
import type { Upstream } from '../../src/services/upstreams/upstream-registry.ts'

/** Who somebody is there: proven by a signed ID token, or, where it has none, by what it answered for their access token. */
export interface Identity extends LinkedSubject {
  /** Seconds since the epoch; undefined where it does not say. */
  readonly authTime: number | undefined
  /** As it came; undefined of one that has none. */
  readonly idToken: string | undefined
  /** By the names there. */
  claims(): Promise<Readonly<Record<string, unknown>>>
}

/** What only this answer may have. */
export interface Checks {
  readonly state: string
  readonly nonce: string
  readonly verifier: string
}

export interface Asked extends Checks {
  /** Parameters of the request beside those of the flow. */
  readonly parameters: Readonly<Record<string, string>>
}

export interface Provider {
  /** Where the browser is sent. Throws `UpstreamFailure`. */
  authorizationUrl(upstream: Upstream, asked: Asked): Promise<string>
  /** Where somebody is signed out (OpenID Connect RP-Initiated Logout 1.0 §2); null where it has no such address. Throws `UpstreamFailure`. */
  signOutUrl(
    upstream: Upstream,
    asked: { readonly idToken: string; readonly state: string },
  ): Promise<string | null>
  /** Of what came back to its callback, `query` as it came. Throws `UpstreamFailure`. */
  identify(upstream: Upstream, query: string, checks: Checks): Promise<Identity>
}
