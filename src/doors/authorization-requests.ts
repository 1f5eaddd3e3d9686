/** What is asked at the authorization endpoint before its parameters are read: where the request is, and whether it is served. */
import type { AuthorizationRequest } from './approval.ts'
import type { Client } from './client.ts'
import type { Spend } from './facts.ts'
import type { Wire } from '../protocol/wire.ts'

/** A request as it was asked: what was sent, or what the source that was named there had of it. */
export interface AskedRequest {
  readonly client: Client
  readonly wire: Wire
  /** The keys of the request sources that it came by, first to last; empty for what was sent as it is. */
  readonly sources: readonly string[]
  /** What of these says whether its client has signed it (RFC 9101 §4); absent where none says anything. */
  readonly isSigned?: boolean
}

/** Whether the authorization endpoint serves a request. Endpoints that ask for approval alone (`parseApproval`) do not ask it. */
export interface AuthorizationCheck {
  readonly name: string
  /** Before any parameter is read. Throws `OAuthError`, which the client gets by redirect (RFC 6749 §4.1.2.1). */
  check(asked: AskedRequest): void | Promise<void>
  /** The same once people have approved, since what is registered may have changed meanwhile. Throws `OAuthError`. */
  review?(request: AuthorizationRequest): void | Promise<void>
}

/**
 * Where requests are that are only named, or sealed, in what was sent (RFC 9101, RFC 9126). Its key is a name of its own, by
 * which checks know what came from it.
 */
export interface RequestSource {
  /**
   * The parameters by which any client may send it a request of its own making, as the metadata then says
   * (`request_parameter_supported`, `request_uri_parameter_supported`). None by default, as of one that takes only what the
   * server has given out (RFC 9126 §5).
   */
  readonly supports?: readonly ('request' | 'request_uri')[]
  /** Whether the request that this names is here. */
  recognizes(wire: Wire): boolean
  /**
   * The request: it replaces all that was sent, whatever stood beside it (RFC 9101 §6.3), and must have the client_id of
   * `client`. Throws `OAuthError`: shown to the person, unless what was sent has a registered redirect_uri too.
   */
  resolve(wire: Wire, client: Client): Promise<SourcedRequest>
}

/**
 * What a profile demands of request objects, beyond RFC 9101: of several rules each holds.
 */
export interface RequestObjectRule {
  readonly name: string
  /** Undefined for a client that the rule is not about. */
  narrow(client: Client): RequestObjectDemand | undefined
}

export interface RequestObjectDemand {
  /** The only JWS algorithms, also of a `login_hint_token` (CIBA §7.1); default all that are taken. */
  readonly algorithms?: readonly string[]
  /** Seconds: then it must have `aud`, `nbf` and `exp`, and be good from one to the other for no longer (FAPI 2.0 Message Signing §5.3.1). */
  readonly longest?: number
}

/** What a source has of a request. */
export interface SourcedRequest {
  readonly wire: Wire
  /**
   * Parameters that the client proved when it sent the request (`oauth.parametersShownBy`): they count whatever a request object
   * in it says, and one with another value is refused.
   */
  readonly shown?: Wire
  /** The keys of the sources that it had come by before this one kept it, for checks. */
  readonly sources?: readonly string[]
  /** Whether the client has signed it, for checks: said by who opens request objects, and by who keeps what was opened. */
  readonly isSigned?: boolean | undefined
  /** Artifacts that are spent with its answer: it may be looked at before as often as somebody likes, and answered once. */
  readonly spends?: readonly Spend[]
}
