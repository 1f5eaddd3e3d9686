/** Events of what clients were given, and of its end before its time. */
import { tells, type Ended } from './tells.ts'

export const TOKEN_EVENTS = {
  /**
   * Also for each refresh, whose grant type is `refresh_token`. Of what was granted for something else, `of` is the client that had
   * that, or `issuer` the trusted issuer whose JWT it was, and `actor` who acts now.
   */
  'token.issued': tells<{
    readonly grant_type: string
    readonly authorization?: string
    readonly of?: string
    readonly issuer?: string
    readonly actor?: string
  }>(),
  /** A client asked for a token in exchange for another, and was told this error. */
  'token.exchange_refused': tells<{ readonly error: string }>(),
  /** A client was given an ID-JAG, to show at `audience`. */
  'token.vouched': tells<{ readonly audience: string; readonly jti: string }>(),
  /**
   * A client came with a JWT of a trusted issuer that was not good, not for it, or used before; `issuer` is one that is registered. Without a client,
   * the issuer itself came with it, or somebody in its name, to have everything of a user ended.
   */
  'token.assertion_refused': tells<{ readonly reason: string; readonly issuer?: string }>(),
  /** One access token alone. */
  'token.revoked': tells<{ readonly jti?: string }>(),
  /** With all tokens that name it. */
  'authorization.revoked': tells<
    Ended & {
      readonly authorization: string
      readonly cause: string
      readonly sid?: string
    }
  >(),
  /** A code or refresh token came once more, which ended its Authorization (RFC 9700 §2.1.1, §4.14.2). */
  'authorization.replayed': tells<Ended & { readonly authorization: string; readonly sid?: string }>(),
}
