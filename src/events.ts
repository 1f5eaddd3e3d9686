/**
 * What happens here that matters to people who ask later: the types of events and what each tells. Plugins listen by
 * `oauth.audit.on`, and add types of their own by merging into `EventDetails`. Nothing in an event is a secret.
 */
import { CLIENT_EVENTS } from './events/client-events.ts'
import { CONSENT_EVENTS } from './events/consent-events.ts'
import { REGISTRY_EVENTS } from './events/registry-events.ts'
import { SERVER_EVENTS } from './events/server-events.ts'
import type { EndedClient } from './events/tells.ts'
import { TOKEN_EVENTS } from './events/token-events.ts'
import { USER_EVENTS } from './events/user-events.ts'

export type { EndedClient }

/** Events by which something ends that clients had of users. */
export const ENDINGS = [
  'user.signed_out',
  'session.ended',
  'user.password_changed',
  'user.tokens_revoked',
  'user.disabled',
  'user.deletion_requested',
  'user.deleted',
  'consent.withdrawn',
  'authorization.revoked',
  'authorization.replayed',
  'client.deleted',
] as const satisfies readonly EventType[]

/** Table by table: so an editor shows what is said of each event, which a spread alone would lose in the package's declarations. */
type OwnEventDetails = typeof USER_EVENTS &
  typeof CONSENT_EVENTS &
  typeof CLIENT_EVENTS &
  typeof REGISTRY_EVENTS &
  typeof TOKEN_EVENTS &
  typeof SERVER_EVENTS

/** What the server tells. */
export const OWN_EVENTS: OwnEventDetails = {
  ...USER_EVENTS,
  ...CONSENT_EVENTS,
  ...CLIENT_EVENTS,
  ...REGISTRY_EVENTS,
  ...TOKEN_EVENTS,
  ...SERVER_EVENTS,
}

/** By the type of the event: plugins add their own here. Whom it is about stands in the event itself. */
export interface EventDetails extends OwnEventDetails {}

export type EventType = keyof EventDetails

/** What a service notes of what it did. */
export type NewEvent = {
  [Type in EventType]: {
    readonly type: Type
    /** The id of the user it is about. */
    readonly user?: string | undefined
    /** The client_id of the client it is about. */
    readonly client?: string | undefined
    readonly details: EventDetails[Type]
  }
}[EventType]

/**
 * Who did it: a user in a browser, a client by its credentials, an issuer elsewhere by a JWT of its own, the command line, SEED_FILE, a setting that
 * brings what it needs, or the server by itself.
 */
export interface Actor {
  readonly kind: 'user' | 'client' | 'issuer' | 'command' | 'seed' | 'setting' | 'server'
  /** A user's id, a client_id, an `iss`, the account that ran the command, the name of the setting, `demo` of a seed that is no file; null for nobody in particular. */
  readonly id: string | null
}

/** An event as it is stored and told. */
export type AuditEvent<Type extends EventType = EventType> = Extract<NewEvent, { type: Type }> & {
  /** UUID version 7: events are in the order of their ids. */
  readonly id: string
  /** Milliseconds since the epoch. */
  readonly at: number
  readonly actor: Actor
  /** Where the request came from, and the id by which the log and its answer name it; null where there was none. */
  readonly address: string | null
  readonly requestId: string | null
  /** How often it happened, where like events of one second are one row. */
  readonly count: number
}
