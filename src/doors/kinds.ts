/**
 * Three kinds of door: *dispatched* (one owner per key), *ordered* (all run, each may refuse), *additive* (all are
 * merged, none overrides what the server owns). `services/door-registry.ts` keeps what is registered.
 */
import type {
  Authorization,
  Bag,
  ClientAuthentication,
  Parameter,
  Policy,
  ResponseMode,
  ResponseType,
  SubjectType,
  Verified,
} from '../doors.ts'
import type { InteractionStep, Outcome } from './interaction.ts'

export interface Dispatched {
  clientAuthentication: ClientAuthentication
  responseType: ResponseType
  responseMode: ResponseMode
  outcome: Outcome
  subjectType: SubjectType
}

export interface Ordered {
  parameter: Parameter
  interactionStep: InteractionStep
  policy: Policy
}

/** Contributions that are merged into a document; the server's own members win. */
export interface Additive {
  tokenResponse: Authorization
  access_token: Authorization
  id_token: Authorization
  userinfo: Authorization
  introspection: Verified
  metadata: Bag
}
