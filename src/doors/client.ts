/** Who calls: a registered client, how it proves who it is, and what it knows people by. */
import type { FastifyRequest } from 'fastify'
import type { Bag } from '../protocol/bag.ts'
import type { Wire } from '../protocol/wire.ts'

/** A registered client as the server uses it: cached, immutable, and without its secrets. */
export interface Client {
  readonly clientId: string
  /** Milliseconds since the epoch. */
  readonly registeredAt: number
  /** What any grant may give it, in its order: the registered `scope` less the rights to introspect. Of a user it may have those of OpenID too. */
  readonly grantableScopes: ReadonlySet<string>
  /** The registered `scope` list as it is. */
  readonly scope: readonly string[]
  /** `grant_types`, and where none are registered those that follow from its other members (RFC 7591 §2). */
  readonly grantTypes: ReadonlySet<string>
  /** `token_endpoint_auth_method`; undefined while unset: then Basic and post both work. */
  readonly authenticationMethod: string | undefined
  /** Every registered member by its RFC 7591 name, plugins' own members included, and as its profiles lock them. */
  readonly metadata: Bag
  /** Why it may do nothing: its registration contradicts a profile that it has. Undefined for one that is in order. */
  readonly conflict?: string | undefined
  /** The door by which it has registered itself (`oauth.selfRegistration`); undefined where somebody here registered it. */
  readonly registrar?: string | undefined
  /** Of one that is not registered here, and known by a `ClientSource` alone, whose key `registrar` is then. */
  readonly unregistered?: Unregistered | undefined
  /** RFC 6749 §2.1: a client without credentials. */
  isPublic(): boolean
}

/** As what people know a client that is not registered. */
export interface Unregistered {
  /** Another text when it looks or answers otherwise: what was allowed before is asked for again. */
  readonly identity: string
  /** Seconds after which what people allowed it is asked for again. */
  readonly consentLifetime: number
}

/**
 * A way for clients to prove who they are (RFC 6749 §2.3); its key is the `token_endpoint_auth_method`. Of the methods that
 * recognise a request, the one that the client is registered for judges it; where it is registered for none of them the
 * request is refused, by whatever it proves.
 */
export interface ClientAuthentication {
  /**
   * The parameters that carry the proof: no handler sees them. Methods with one in common read the same proof; two that have
   * none in common and recognise one request are two at once, which is `invalid_request`.
   */
  readonly credentials: readonly string[]
  /** The JWS algorithms that it takes, for `token_endpoint_auth_signing_alg_values_supported` (RFC 8414 §2). */
  readonly algorithms?: readonly string[]
  /**
   * Whether what it recognises need not be meant as a proof, as a client_id alone or the certificate of a connection: it
   * is asked only where no other method recognises the request. Default false.
   */
  readonly implied?: boolean
  /** The client_ids that the request claims by this method, most likely reading first; null when it is not used. */
  recognizes(request: FastifyRequest, wire: Wire): readonly string[] | null
  /**
   * Whether the request proves that it is `client`. Called also with null, where there is none or it is registered for
   * another method, to take the same time. May be called a second time, with the client as it was registered meanwhile.
   */
  authenticate(request: FastifyRequest, wire: Wire, client: Client | null, claimed: string): Promise<boolean>
}

/**
 * What a profile demands of the JWTs by which its clients prove who they are, beyond RFC 7523 and OpenID Connect Core §9: of
 * several rules each holds.
 */
export interface AssertionRule {
  /** Of its own. */
  readonly name: string
  /** Undefined for a client that the rule is not about. */
  narrow(client: Client): AssertionDemand | undefined
}

export interface AssertionDemand {
  /** The only JWS algorithms, of those that the method takes; default all of them. */
  readonly algorithms?: readonly string[]
  /** Whether `aud` must be the issuer alone, as one text (FAPI 2.0 §5.3.2.1). Default false. */
  readonly issuerAlone?: boolean
}

/** What clients know users by (OpenID Connect Core §8); its key is the `subject_type`. */
export interface SubjectType {
  /** The `sub`: 255 ASCII characters at most (§2), the same for the same two each time, in every process and for ever. */
  subject(userId: string, client: Client): string
}
