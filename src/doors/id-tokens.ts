/** ID tokens (OpenID Connect Core §2), for whoever answers with one. */
import type { ClientCall } from './back-channel.ts'
import type { Authorization, Granted } from './facts.ts'

/** What an ID token is handed out with, and names by its hash. */
export interface BesideIdToken {
  /**
   * `at_hash` (§3.1.3.6). With neither a code nor an access token, it tells the claims that come of scopes whatever the
   * setting (§5.4): userinfo cannot.
   */
  readonly accessToken?: string
  /**
   * `c_hash` (§3.3.2.11). With a code, claims of the user that come of scopes are left to the ID token that the code gives:
   * this one passes through the address of a browser (§3.3.3.6).
   */
  readonly code?: string
  /** `s_hash` (FAPI 1.0 Advanced §5.1.1). */
  readonly state?: string
}

export interface IdTokens {
  /**
   * The signed ID token about the user of `granted` for the client of `call`, as the token endpoint has it: subject, sign-in,
   * `nonce`, claims, and what others contribute to `id_token`. Throws `TypeError` for facts without a user.
   */
  issue(granted: Granted | Authorization, call: ClientCall, beside?: BesideIdToken): Promise<string>
}
