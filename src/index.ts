/**
 * What the package `latchkey` offers to those who embed the server and to those who extend it. Importing it starts
 * nothing, and types `fastify.oauth`, `fastify.browser`, `fastify.interactions`, `fastify.pages`, `reply.page`,
 * `fastify.requireScope` and `request.token`.
 */
import type { FastifyInstance } from 'fastify'
import fp from 'fastify-plugin'
import type { SettingValues } from './config.ts'
import type { LatchkeyOptions } from './mounting/latchkey-options.ts'
import type { BuildOptions } from './server.ts'

export { Type, type Static, type TObject } from 'typebox'
export { ConfigError, type Config, type SettingValues } from './config.ts'
export type { Additive, AdditiveCall, AdditiveValue, Dispatched, Ordered } from './doors/kinds.ts'
export type {
  AnsweredRequest,
  ApprovalRequest,
  AuthorizationAnswer,
  AuthorizationRequest,
  ConsentLine,
  Parameter,
  ResponseMode,
  ResponseType,
} from './doors/approval.ts'
export type { ArtifactOptions, Artifacts, ListedArtifact, PutOptions } from './doors/artifacts.ts'
export type { ArtifactStore } from './services/artifact-store.ts'
export type { AuthenticationDevice, BackchannelCall } from './doors/authentication-device.ts'
export type { AuthorizationDetailsType } from './doors/authorization-details.ts'
export type { AuthorizationDetail } from './protocol/authorization-details.ts'
export type {
  AskedRequest,
  AuthorizationCheck,
  RequestObjectDemand,
  RequestObjectRule,
  RequestSource,
  SourcedRequest,
} from './doors/authorization-requests.ts'
export type { Call, ClientCall, Grant, Policy } from './doors/back-channel.ts'
export type {
  AssertionDemand,
  AssertionRule,
  Client,
  ClientAuthentication,
  Unregistered,
} from './doors/client.ts'
export type { ClientSource, SourcedClient } from './doors/client-source.ts'
export { answer, type Answer, type AnswerOptions } from './doors/answer.ts'
export {
  type BearerCall,
  type Caller,
  type Endpoint,
  type EndpointCalls,
  type EndpointMethod,
  type OpenCall,
  type Sent,
} from './doors/endpoint.ts'
export type { Failure, FailureForm } from './doors/failure-form.ts'
export { parentOf } from './doors/parents.ts'
export type {
  AccessTokenClaims,
  Authorization,
  Continuation,
  Granted,
  ParentClaim,
  Spend,
  Verified,
} from './doors/facts.ts'
export type { BesideIdToken, IdTokens } from './doors/id-tokens.ts'
export { OutboundError, Undeliverable } from './doors/outbound.ts'
export type { Delivery, DeliveryTry, Enqueued, Fetch, OutboundRequest } from './doors/outbound.ts'
export type { AssurancePolicy, AssuranceQuestion, Factors, Reach, Requirement } from './doors/assurance.ts'
export type {
  BrowserCall,
  Elsewhere,
  EndedInteraction,
  Interaction,
  InteractionStep,
  Outcome,
  Session,
  Shown,
  StepElement,
  StepFacts,
  StepPage,
} from './doors/interaction.ts'
export type {
  OpenPluginRecords,
  PluginRecord,
  PluginRecordOptions,
  PluginRecordPage,
  PluginRecords,
} from './doors/plugin-records.ts'
export type { Rendered, Representation, Represented, RepresentedCall } from './doors/representation.ts'
export type { Registration, SelfRegistration, SelfRegistrationOptions } from './doors/self-registration.ts'
export type { ProofDemand, ProofRule, SenderConstraint } from './doors/sender-constraint.ts'
export {
  approvalFromJson,
  approvalToJson,
  grantedFromJson,
  grantedToJson,
  type StoredApproval,
} from './doors/stored-facts.ts'
export type { GeneratedKey, KeyStore, KeyStoreOptions, OpenKeyStore } from './doors/key-store.ts'
export { type Mail, type MailTransport, NoMailTransport, type OutgoingMail } from './doors/mail.ts'
export type { KeptElsewhere, KnownBrowser, PasswordAnswer, PasswordSource } from './doors/password-source.ts'
export type {
  Proof,
  SignInAsked,
  SignInElement,
  SignInLink,
  SignInMethod,
  SignInWish,
} from './doors/sign-in.ts'
export type { RecordOptions, UserRecord, UserRecords } from './doors/user-records.ts'
export type { User } from './doors/user.ts'
export type * from './events.ts'
export { ENDINGS } from './events.ts'
export type { Bag } from './protocol/bag.ts'
export type { ConnectedRequest } from './http/trusted-proxy.ts'
export type { ClientInformation } from './protocol/client-metadata.ts'
export type { Actor, Authentication, Binding, Parent, StoredGranted } from './protocol/facts.ts'
export type { ReadSettings } from './settings/plugin-settings.ts'
export { OAuthError, type OAuthErrorOptions } from './protocol/errors.ts'
export { networkOf } from './protocol/network.ts'
export type { PublicJwk } from './protocol/jwk-set.ts'
export { JwtError } from './protocol/signed-jwt.ts'
export { Repeatable } from './protocol/parameters.ts'
export { formatScope, isScopeToken, parseScope } from './protocol/scope.ts'
export type { Wire } from './protocol/wire.ts'
export type { LatchkeyOptions, OrmLike, PoolLike } from './mounting/latchkey-options.ts'
export type { BuildOptions } from './server.ts'
export type { Audit, Listener } from './services/audit/audit.ts'
export type { AuditFilter, AuditLog, AuditPage } from './services/audit/audit-log.ts'
export type { OpenSelfRegistration } from './services/clients/self-registration.ts'
export type { ParseOpenMetadata } from './services/clients/open-metadata.ts'
export type { MetadataCheck } from './services/clients/client-policies.ts'
export type { ClientKeys, ExpectedJwt } from './services/clients/client-keys.ts'
export type { ClientRegistry } from './services/clients/client-registry.ts'
export type { PublishedKeys } from './services/keys/published-keys.ts'
export type { KeyRecord } from './services/keys/ring-key.ts'
export type { ResourceInformation, ResourceRegistry, ScopeInformation } from './services/resource-registry.ts'
export type { GivenUpDeliveries, GivenUpDelivery } from './services/outbox/given-up.ts'
export type { Enqueuer } from './services/outbox/outbox.ts'
export type { Attempt, Throttle } from './services/throttle/throttle.ts'
export type { ThrottleLimits } from './services/throttle/throttle-limits.ts'
export type { SignStatement } from './services/tokens/signed-statements.ts'
export type { Mailer } from './services/mail.ts'
export type { PasswordRemoval } from './services/users/password-removal.ts'
export type { UserExport } from './services/users/user-export.ts'
export type { UserRecordKeeper } from './services/users/user-records.ts'
export type { UserRegistry } from './services/users/user-registry.ts'
export type {
  AccountArea,
  AccountDoors,
  AccountSection,
  NextStep,
  OverviewNotice,
  SecurityPart,
} from '../plugins/account/sections.ts'
export type { AdminArea, AdminDoors, Administrator, UserPart } from '../plugins/admin/sections.ts'
export type { Browser } from '../plugins/browser/index.ts'
export { message, type Message, type Words } from './protocol/message.ts'
export type { PageLanguage } from '../plugins/language.ts'
export type { Catalogue } from './services/languages/catalogues.ts'
export type { Composer, Language } from './services/languages/language.ts'
export type { Languages, Reader } from './services/languages/languages.ts'
export type { Letter, Letters } from '../plugins/mail/letters.ts'
export type { Interactions } from '../plugins/interaction/index.ts'
export type { OAuth } from '../plugins/oauth/index.ts'
export type {
  FormPage,
  PageCall,
  PageDoors,
  PageOptions,
  ServePage,
  ShownPage,
} from '../plugins/pages/index.ts'
export type { Section } from '../plugins/pages/areas.ts'
export type * from '../plugins/pages/models.ts'
export { BearerError, type BearerErrorOptions } from '../plugins/require-scope/bearer-error.ts'
export type { AccessToken, AuthenticationDemand, RequireScopeHook } from '../plugins/require-scope/index.ts'
export type {
  BoundToken,
  ConstrainedReply,
  ConstrainedRequest,
} from '../plugins/require-scope/sender-constraint.ts'

/**
 * Builds a server from settings by their names; the environment is not read. Creates or migrates the database;
 * the caller listens. Throws `ConfigError` for a setting that cannot be used.
 */
export async function buildServer(
  settings: SettingValues = {},
  options: BuildOptions = {},
): Promise<FastifyInstance> {
  // Not before it is asked for: most who import this are plugins of a server that is there already.
  const server = await import('./server.ts')
  return server.buildServer(settings, options)
}

/**
 * The whole of it as one plugin, for an app of your own: `app.register(latchkey, { prefix: '/auth', settings })`. The app
 * gets `app.oauth` and `app.requireScope`; handlers, hooks and everything else of ours stays with our routes. Throws
 * `ConfigError` for what cannot work.
 */
export const latchkey = fp(
  async (app: FastifyInstance, options: LatchkeyOptions): Promise<void> => {
    const { default: plugin } = await import('./latchkey.ts')
    await plugin(app, options)
  },
  { name: 'latchkey', fastify: '5.x' },
)
export default latchkey
