/** Which security events an event of the audit log is, and for whom: those of CAEP 1.0 and RISC 1.0 that this server knows to be true. */
import type { Actor, AuditEvent, EndedClient, EventType } from '../../src/events.ts'
import { ENDINGS } from '../../src/events.ts'
import type { Bag } from '../../src/protocol/bag.ts'
import { MOST_SIDS } from '../../src/store/holders.ts'

const CAEP = 'https://schemas.openid.net/secevent/caep/event-type/'
const RISC = 'https://schemas.openid.net/secevent/risc/event-type/'
const SSF = 'https://schemas.openid.net/secevent/ssf/event-type/'

export const VERIFICATION = `${SSF}verification`
export const STREAM_UPDATED = `${SSF}stream-updated`
const SESSION_REVOKED = `${CAEP}session-revoked`
const CREDENTIAL_CHANGE = `${CAEP}credential-change`
const ACCOUNT_DISABLED = `${RISC}account-disabled`
export const ACCOUNT_ENABLED = `${RISC}account-enabled`
export const ACCOUNT_PURGED = `${RISC}account-purged`

/** `events_supported`. */
export const EVENTS: readonly string[] = [
  SESSION_REVOKED,
  CREDENTIAL_CHANGE,
  ACCOUNT_DISABLED,
  ACCOUNT_ENABLED,
  ACCOUNT_PURGED,
]

/** What is kept of an event of the audit log until it is told. */
export interface Cause {
  /** That of the event, and the `txn` of all that is told of it. */
  readonly id: string
  /** Milliseconds since the epoch. */
  readonly at: number
  readonly type: EventType
  readonly user: string
  /** The `initiating_entity` (CAEP 1.0 §2). */
  readonly by: string
  /** From whom something was taken; with the sessions where it is `some`. */
  readonly clients: readonly EndedClient[]
  /** Whether it is of those sessions alone, and others of the user last. */
  readonly some?: boolean
  /** Whether `clients` alone are told: a part of what is too much for one delivery. */
  readonly only?: boolean
  readonly factor?: string
}

export interface Signal {
  /** The URI of the event type. */
  readonly type: string
  /** The session that it is about; without one, the account. */
  readonly sid?: string
  readonly payload: Bag
  /** Among all that one client may hear of a cause: what is told first has the lowest. */
  readonly place: number
}

/** A client that is gone can be told nothing; and a token that came twice was stolen, which is not its user's leave. */
const ENDED = ENDINGS.filter((type) => type !== 'client.deleted' && type !== 'authorization.replayed')

/** For the log of the receiver, in English: the CAEP Interoperability Profile wants one (§3). */
const REASONS: Partial<Record<EventType, string>> = {
  'user.signed_out': 'The user signed out.',
  'session.ended': 'The session was ended.',
  'user.password_changed': 'The password was changed.',
  'user.tokens_revoked': 'Everything that apps had of the user was ended.',
  'user.password_removed': 'The password was removed.',
  'user.passkey_added': 'A passkey was added.',
  'user.passkey_removed': 'A passkey was removed.',
  'user.factor_added': 'A second factor was added.',
  'user.factor_removed': 'A second factor was removed.',
  'user.disabled': 'The account was disabled.',
  'user.deletion_requested': 'The user asked for the deletion of the account.',
  'user.deleted': 'The account was deleted.',
  'consent.withdrawn': 'The user withdrew what the app was allowed.',
  'authorization.revoked': 'What the app was allowed was revoked.',
}

/** CAEP 1.0 §3.3: `credential_type` and `change_type`. */
const CREDENTIALS: Partial<Record<EventType, readonly [string, string]>> = {
  'user.password_changed': ['password', 'update'],
  'user.password_removed': ['password', 'delete'],
  'user.passkey_added': ['fido2-platform', 'create'],
  'user.passkey_removed': ['fido2-platform', 'delete'],
  'user.factor_added': ['app', 'create'],
  'user.factor_removed': ['app', 'delete'],
}

/** RISC 1.0 §2. An account whose deletion was asked for is disabled, and may be enabled again. */
const ACCOUNTS: Partial<Record<EventType, string>> = {
  'user.disabled': ACCOUNT_DISABLED,
  'user.deletion_requested': ACCOUNT_DISABLED,
  'user.enabled': ACCOUNT_ENABLED,
  'user.deletion_cancelled': ACCOUNT_ENABLED,
  'user.deleted': ACCOUNT_PURGED,
}

/** The factor of which `app` is said: others have no name in CAEP. */
const APP_FACTOR = 'authenticator'

/** Places of what is told of the account, behind those of its sessions. */
const [OF_CREDENTIAL, OF_ACCOUNT] = [MOST_SIDS, MOST_SIDS + 1]

/** All that something is told of. */
export const CAUSES = [
  ...new Set([...ENDED, ...Object.keys(CREDENTIALS), ...Object.keys(ACCOUNTS)]),
] as EventType[]

interface Ended {
  readonly clients?: readonly EndedClient[]
  readonly sid?: string
  readonly except?: string
  readonly factor?: string
}

/** Null where it is told to nobody. */
export function causeOf({ id, at, type, user, actor, details }: AuditEvent): Cause | null {
  if (user === undefined) return null
  const { clients = [], sid, except, factor } = details as Bag & Ended
  const some =
    type === 'authorization.revoked' ||
    type === 'user.signed_out' ||
    (type === 'session.ended' && (sid ?? except) !== undefined)
  // What a client ends itself, by revoking its token, is no news to it.
  if (type === 'authorization.revoked' && actor.kind === 'client') return null
  return {
    id,
    at,
    type,
    user,
    by: initiatorOf(actor, user),
    clients: some ? clients : clients.map(({ client }) => ({ client, sids: [] })),
    ...(some ? { some } : {}),
    ...(factor === undefined ? {} : { factor }),
  }
}

/** What a client hears of it, in this order. */
export function signalsFor(client: string, cause: Cause): readonly Signal[] {
  const { type, factor, only = false } = cause
  const signals: Signal[] = []
  const ended = cause.clients.find((one) => one.client === client)
  if (only && ended === undefined) return []
  if (ended !== undefined && (ENDED as readonly string[]).includes(type))
    for (const [place, sid] of sessionsOf(ended, cause).entries())
      signals.push({
        type: SESSION_REVOKED,
        ...(sid === undefined ? {} : { sid }),
        payload: commonOf(cause),
        place,
      })
  const [credentialType, changeType] = CREDENTIALS[type] ?? []
  if (credentialType !== undefined && (factor === undefined || factor === APP_FACTOR))
    signals.push({
      type: CREDENTIAL_CHANGE,
      payload: { credential_type: credentialType, change_type: changeType, ...commonOf(cause) },
      place: OF_CREDENTIAL,
    })
  const account = ACCOUNTS[type]
  if (account !== undefined) signals.push({ type: account, payload: {}, place: OF_ACCOUNT })
  return signals
}

/** Undefined for all that the client has of the user: also where it had more than an event names, since nobody knows the rest. */
function sessionsOf({ sids }: EndedClient, { some = false }: Cause): readonly (string | undefined)[] {
  return some && sids.length < MOST_SIDS ? sids : [undefined]
}

/** CAEP 1.0 §2. */
function commonOf(cause: Cause): Bag {
  return {
    event_timestamp: Math.floor(cause.at / 1000),
    initiating_entity: cause.by,
    reason_admin: { en: REASONS[cause.type] },
  }
}

function initiatorOf({ kind, id }: Actor, user: string): string {
  if (kind === 'user') return id === user ? 'user' : 'admin'
  return kind === 'command' || kind === 'client' ? 'admin' : 'system'
}
