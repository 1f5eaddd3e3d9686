/**
 * Three of the four kinds of door, and what is registered at each: *dispatched* (one owner per key), *ordered* (all run, each may refuse), *additive*
 * (all are merged, none overrides what the server owns). `registry.ts` keeps it; what one plugin alone opens by a name is in `taken-names.ts`.
 */
import type { AuthenticationDevice } from './authentication-device.ts'
import type { AuthorizationAnswer, Parameter, ResponseMode, ResponseType } from './approval.ts'
import type { AuthorizationDetailsType } from './authorization-details.ts'
import type { AuthorizationCheck, RequestObjectRule, RequestSource } from './authorization-requests.ts'
import type { Call, ClientCall, Policy } from './back-channel.ts'
import type { ClientSource } from './client-source.ts'
import type { AssertionRule, ClientAuthentication, SubjectType } from './client.ts'
import type { Authorization, Verified } from './facts.ts'
import type { Bag } from '../protocol/bag.ts'
import type { AssurancePolicy } from './assurance.ts'
import type { InteractionStep, Outcome } from './interaction.ts'
import type { KeyStore } from './key-store.ts'
import type { Delivery } from './outbound.ts'
import type { Representation } from './representation.ts'
import type { ProofRule, SenderConstraint } from './sender-constraint.ts'
import type { MailTransport } from './mail.ts'
import type { PasswordSource } from './password-source.ts'
import type { Profile } from './profile.ts'
import type { SignInLink, SignInMethod, SignOutNotice, SignOutWay } from './sign-in.ts'

/** One owner for each key, by `oauth.register`. */
export interface Dispatched {
  /** By its own name, which its clients have as `registrar`. */
  clientSource: ClientSource
  /** By the `token_endpoint_auth_method` (RFC 7591 §2). */
  clientAuthentication: ClientAuthentication
  /** By a name of its own. */
  requestSource: RequestSource
  /** By the `response_type`. */
  responseType: ResponseType
  /** By the `response_mode`. */
  responseMode: ResponseMode
  /** By the name under which interactions are started with it. */
  outcome: Outcome
  /** By the `subject_type`. */
  subjectType: SubjectType
  /** By its `kind`, with `oauth.deliver`. */
  delivery: Delivery
  /** By its name in addresses. */
  signInMethod: SignInMethod
  /** By a name of its own. */
  passwordSource: PasswordSource
  /** `default` alone. */
  mailTransport: MailTransport
  /** By the scheme of an entry of KEYS. */
  keyStore: KeyStore
  /** By its name in OIDC_PROFILE and in the member `profile`. */
  profile: Profile
  /** By the `type` (RFC 9396 §2). */
  authorizationDetailsType: AuthorizationDetailsType
}

/** All run in the order of their registration, by `oauth.add`; each has a name of its own, but a policy, which is a function. */
export interface Ordered {
  authorizationCheck: AuthorizationCheck
  parameter: Parameter
  interactionStep: InteractionStep
  policy: Policy
  representation: Representation
  senderConstraint: SenderConstraint
  assurance: AssurancePolicy
  assertionRule: AssertionRule
  requestObjectRule: RequestObjectRule
  proofRule: ProofRule
  authenticationDevice: AuthenticationDevice
  signInLink: SignInLink
  signOutWay: SignOutWay
  signOutNotice: SignOutNotice
}

/** Documents, with what each is made of for who contributes to it by `oauth.extend`; the server's own members win. */
export interface Additive {
  /** RFC 6749 §5.1. */
  tokenResponse: Authorization
  /** The claims of RFC 9068 §2.2. */
  access_token: Authorization
  /** The claims of OpenID Connect Core §2. */
  id_token: Authorization
  /** OpenID Connect Core §5.3.2; with the scopes of the access token that came. */
  userinfo: Authorization
  /** RFC 7662 §2.2, of a token that is active. */
  introspection: Verified
  /** RFC 6749 §4.1.2 and §4.1.2.1. */
  authorizationResponse: AuthorizationAnswer
  /** RFC 8414 §2, OpenID Connect Discovery §3: what the server says of itself so far. */
  metadata: Bag
}

/** The request that a contribution answers; the metadata is made once, for no request. */
export interface AdditiveCall {
  tokenResponse: Call
  access_token: Call
  id_token: ClientCall
  userinfo: ClientCall
  introspection: Call
  authorizationResponse: ClientCall
  metadata: undefined
}

/** What a member may be: of an authorization response a text, as the wire has it; of all else what JSON holds. */
export type AdditiveValue<K extends keyof Additive> = K extends 'authorizationResponse' ? string : unknown
