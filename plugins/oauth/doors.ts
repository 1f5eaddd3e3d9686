/**
 * The doors that plugins register at, as a part of `fastify.oauth`: what each takes is in `src/doors/`, and docs/extending.md is their
 * book.
 */
import type { TObject } from 'typebox'
import type { Grant } from '../../src/doors/back-channel.ts'
import type { Caller, Endpoint } from '../../src/doors/endpoint.ts'
import type { IdTokens } from '../../src/doors/id-tokens.ts'
import type { Dispatched, Ordered } from '../../src/doors/kinds.ts'
import type { Delivery, Fetch } from '../../src/doors/outbound.ts'
import type { OpenPluginRecords } from '../../src/doors/plugin-records.ts'
import type { Extend } from '../../src/doors/registry.ts'
import type { ReadSettings } from '../../src/settings/plugin-settings.ts'
import type { ArtifactStore } from '../../src/services/artifact-store.ts'
import type { MetadataCheck } from '../../src/services/clients/client-policies.ts'
import type { OpenSelfRegistration } from '../../src/services/clients/self-registration.ts'
import type { FindServerSecret } from '../../src/services/keys/server-secrets.ts'
import type { GivenUpDeliveries } from '../../src/services/outbox/given-up.ts'
import type { Outbox } from '../../src/services/outbox/outbox.ts'
import type { Once } from '../../src/services/once.ts'
import type { Throttles } from '../../src/services/throttle/throttle.ts'
import type { SignStatement } from '../../src/services/tokens/signed-statements.ts'

export interface OAuthDoors {
  /** A grant at the token endpoint. Throws `ConfigError` for a `type` that is taken, and once the server is ready, as all that registers does. */
  registerGrant<P extends TObject>(grant: Grant<P>): void
  /** One method at one path. Throws `ConfigError` where that is taken, and for what is no endpoint. */
  registerEndpoint<P extends TObject, Who extends Caller = 'client'>(endpoint: Endpoint<P, Who>): void
  /** What one alone may do, by its key (`Dispatched`). Throws `ConfigError` for a key that has an owner. */
  register<K extends keyof Dispatched>(kind: K, key: string, owner: Dispatched[K]): void
  /** One more of those that all run, each after those before it (`Ordered`). Throws `ConfigError` for a name that is taken. */
  add<K extends keyof Ordered>(kind: K, item: Ordered[K]): void
  /** Members that a document has from then on (`Additive`). Throws `ConfigError` for one that is taken. */
  readonly extend: Extend
  /**
   * Members of client metadata that a plugin adds; from then on every way of registering clients knows them. Throws when one
   * is taken. A check may also be of members of others. A client that registers by itself may set those that are `open`:
   * `Type.Boolean({ open: true })`.
   */
  extendClientMetadata(schema: TObject, check?: MetadataCheck): void
  /** ID tokens, for response types and answers of a plugin's own. */
  readonly idTokens: IdTokens
  /**
   * Clients that register by themselves, by a door of the plugin's own, and in the words of RFC 7591. Throws when the name is
   * another's, at the start.
   */
  readonly selfRegistration: OpenSelfRegistration
  /** Settings of a plugin's own. */
  readonly settings: ReadSettings
  /** Says something in the name of the server, as a JWT of a type of the plugin's own. Once the server is ready. */
  readonly signStatement: SignStatement
  /** The one way out, to addresses that others named. */
  readonly fetch: Fetch
  /** Who does what is enqueued of a kind. */
  deliver<P extends TObject>(delivery: Delivery<P>): void
  /**
   * Has something done outside, behind the request and for a day if need be: stored when it resolves. Throws `TypeError` for a
   * kind that nobody delivers, and for a payload that does not fit it; `OAuthError` (503) while 100 000 wait or were given up.
   */
  readonly enqueue: Outbox['enqueue']
  /**
   * The same with an event of these types: what `enqueuer` says of it is stored in the event's own transaction, so that no change
   * is without what follows from it. It says so at once, by the event alone; what it throws is logged, and undoes nothing.
   * Throws `ConfigError` once the server is ready: what happened before would go without.
   */
  readonly enqueueOn: Outbox['enqueueOn']
  /** What was given up. */
  readonly givenUpDeliveries: GivenUpDeliveries
  /** Stored things of a plugin's own. Throws when the kind is another's, at the start. */
  readonly artifacts: ArtifactStore['artifacts']
  /** Lasting things of a plugin's own that belong to no user, as an organisation. Throws when the kind is another's. */
  readonly records: OpenPluginRecords
  /** For what may be used once, as the `jti` of an assertion or a proof. */
  readonly once: Once
  /** A secret of a plugin's own: random, made once, the same in every process and for ever. Once the server is ready. */
  readonly secret: FindServerSecret
  /** Refuses who has failed too often at this kind of attempt. Throws when the kind is another's, at the start. */
  readonly throttle: Throttles['throttle']
}
