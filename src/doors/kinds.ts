/**
 * Three kinds of door: *dispatched* (one owner per key), *ordered* (all run, each may refuse), *additive* (all are
 * merged, none overrides what the server owns). `registry.ts` keeps what is registered.
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
import type { SenderConstraint } from './sender-constraint.ts'
import type { MailTransport } from './mail.ts'
import type { Profile } from './profile.ts'
import type { SignInLink, SignInMethod, SignOutNotice, SignOutWay } from './sign-in.ts'

export interface Dispatched {
  clientSource: ClientSource
  clientAuthentication: ClientAuthentication
  requestSource: RequestSource
  responseType: ResponseType
  responseMode: ResponseMode
  outcome: Outcome
  subjectType: SubjectType
  /** By `oauth.deliver`. */
  delivery: Delivery
  signInMethod: SignInMethod
  mailTransport: MailTransport
  /** By the scheme of an entry of KEYS. */
  keyStore: KeyStore
  profile: Profile
  authorizationDetailsType: AuthorizationDetailsType
}

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
  authenticationDevice: AuthenticationDevice
  signInLink: SignInLink
  signOutWay: SignOutWay
  signOutNotice: SignOutNotice
}

/** Contributions that are merged into a document; the server's own members win. */
export interface Additive {
  tokenResponse: Authorization
  access_token: Authorization
  id_token: Authorization
  userinfo: Authorization
  introspection: Verified
  authorizationResponse: AuthorizationAnswer
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
