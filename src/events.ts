/**
 * What happens here that matters to people who ask later: the types of events and what each tells. Plugins listen by
 * `oauth.audit.on`, and add types of their own by merging into `EventDetails`. Nothing in an event is a secret.
 */
import type { Bag } from './protocol/bag.ts'
import type { Changes } from './protocol/changes.ts'

/**
 * A client from which something of a user's was taken, or that a session of theirs that ends had signed in to, and these sessions (`sid`):
 * 500 at most, so who has as many may have had more.
 */
export interface EndedClient {
  readonly client: string
  readonly sids: readonly string[]
}

/** What ends tells whom it was taken from, those included whose `offline_access` outlives a session. */
interface Ended {
  readonly clients: readonly EndedClient[]
}

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

/** What an event of a type tells: nothing but its type is of use. */
// oxlint-disable-next-line typescript/no-unnecessary-type-parameters -- it is all that it is for.
const tells = <Details>(): Details => undefined as Details

/** What the server tells. */
export const OWN_EVENTS = {
  'user.registered': tells<{ readonly changes: Changes }>(),
  /** `noWayIn` where it took the address away by which alone they could sign in. */
  'user.changed': tells<{ readonly changes: Changes; readonly noWayIn?: true }>(),
  /** Every session and token of theirs ended with the old one. */
  'user.password_changed': tells<Ended>(),
  /** Every session and token of theirs ended, as somebody asked who may: the actor. They may sign in again. */
  'user.tokens_revoked': tells<Ended>(),
  /** They sign in by something else alone; nothing ends with it. */
  'user.password_removed': tells<Bag>(),
  /** A one-time link was made, by which they may set a password; `expires` is in seconds since the epoch. */
  'user.password_link_made': tells<{ readonly expires: number }>(),
  /** An administrator had a mail sent with a link by which they choose their password. */
  'user.invited': tells<Bag>(),
  /** By somebody, or with everything of theirs that ended (`user.tokens_revoked`). */
  'user.invitation_withdrawn': tells<Bag>(),
  /** A one-time link that was used, is too old, or never was one; `link` says what it would have been for. */
  'user.link_refused': tells<{
    readonly link: 'setup' | 'password' | 'reset' | 'email' | 'sign-up' | 'invitation' | 'upstream'
  }>(),
  /** `name` is what its user calls it. */
  'user.passkey_added': tells<{ readonly name: string }>(),
  'user.passkey_removed': tells<{ readonly name: string }>(),
  /**
   * One of theirs did not sign in. `counter`: it was used more often than it says, so it may have been copied; `proof`: what it should have
   * signed does not hold; `another user`: somebody else had to show that it is them.
   */
  'user.passkey_refused': tells<{ readonly reason: 'counter' | 'proof' | 'disabled' | 'another user' }>(),
  'user.disabled': tells<Ended>(),
  'user.enabled': tells<Bag>(),
  /** By themselves. Everything of theirs ended; `due`, in seconds since the epoch, is when they are deleted unless they keep their account. */
  'user.deletion_requested': tells<Ended & { readonly due: number }>(),
  /** They kept it, or an administrator did; or nobody else who may sign in is an administrator. */
  'user.deletion_cancelled': tells<{ readonly reason?: 'last administrator' }>(),
  /** With all that was theirs; the log goes on naming them by their id. */
  'user.deleted': tells<Ended>(),
  /** `sid` names the session; `amr` is RFC 8176; `newBrowser` is noted where NOTIFY_NEW_BROWSERS asks for it. */
  'user.signed_in': tells<{
    readonly sid: string
    readonly amr: readonly string[]
    readonly newBrowser?: true
  }>(),
  /** A first factor was right, and another one is asked for. */
  'user.sign_in_pending': tells<{ readonly sid: string; readonly amr: readonly string[] }>(),
  /** `factor` names its kind: `authenticator` is an app whose codes are asked for. */
  'user.factor_added': tells<{ readonly factor: string }>(),
  'user.factor_removed': tells<{ readonly factor: string }>(),
  /** A sign-in had passed its first step, and its code was wrong: `factor` is `authenticator` or `recovery_code`. */
  'user.factor_failed': tells<{ readonly factor: string }>(),
  /** In the place of all that they had. */
  'user.recovery_codes_made': tells<{ readonly count: number }>(),
  /** In the place of a factor; `left` of them are good still. */
  'user.recovery_code_used': tells<{ readonly left: number }>(),
  /** A code was mailed by which they sign in. */
  'user.sign_in_code_sent': tells<Bag>(),
  /**
   * Of an account that there is not, only a keyed hash: what was typed may be a password. `method` is noted where it was another than the
   * password, as `mail-code` is.
   */
  'user.sign_in_failed': tells<{ readonly account?: string; readonly method?: string }>(),
  /** From then on they can sign in by that upstream; `registered` is noted where their account was made by it. */
  'user.upstream_linked': tells<{
    readonly upstream: string
    readonly issuer: string
    readonly registered?: true
  }>(),
  'user.upstream_unlinked': tells<{ readonly upstream: string; readonly issuer: string }>(),
  'user.signed_out': tells<Ended & { readonly sid: string }>(),
  /** Somebody other than its browser ended it; without `sid`, all of the user's, or all but `except`. */
  'session.ended': tells<Ended & { readonly sid?: string; readonly except?: string }>(),
  /** `lines` are the keys of what was allowed beside scopes and resources; `declined` the scopes that were left out. */
  'consent.given': tells<{
    readonly scopes: readonly string[]
    readonly resources: readonly string[]
    readonly lines?: readonly string[]
    readonly declined?: readonly string[]
  }>(),
  'consent.denied': tells<Bag>(),
  'consent.withdrawn': tells<Ended>(),
  /** Somebody let a device have tokens, or did not; `device` is the address that it asked from. */
  'device.allowed': tells<{ readonly device: string }>(),
  'device.denied': tells<{ readonly device: string }>(),
  /** A client asked for somebody's approval, they gave it, or did not; `address` is where the client asked from, `request` names it on pages. */
  'ciba.asked': tells<{ readonly address: string; readonly request: string }>(),
  'ciba.allowed': tells<{ readonly address: string; readonly request: string }>(),
  'ciba.denied': tells<{ readonly address: string; readonly request: string; readonly unmet?: string }>(),
  /** From then on clients have to know it that ask them, or nobody has to. */
  'ciba.user_code_set': tells<Bag>(),
  'ciba.user_code_removed': tells<Bag>(),
  /** A code was entered of which no request is open, or not in that browser. */
  'device.code_refused': tells<Bag>(),
  'client.registered': tells<{ readonly changes: Changes }>(),
  'client.changed': tells<{ readonly changes: Changes }>(),
  /** `overlap`: seconds that the former secret goes on working. */
  'client.secret_rotated': tells<{ readonly overlap: number }>(),
  'client.deleted': tells<Ended>(),
  /** One that is known by its metadata document, by its address, or all of a host. What it had ends. */
  'client.blocked': tells<{ readonly blocked: string }>(),
  'client.unblocked': tells<{ readonly blocked: string }>(),
  'client.authentication_failed': tells<{ readonly account?: string }>(),
  /**
   * Failures were too many, so more tries are refused for a while: at an account from one network, at a network, whatever
   * the account, or at an account from everywhere. Told once while it goes on, by each process that found it out. `kind` is of
   * attempt: `user`, `client`, a plugin's own; `account` a keyed hash where it is nobody's that we know.
   */
  'limit.reached': tells<{
    readonly kind: string
    readonly limit: 'account' | 'network' | 'everywhere'
    readonly account?: string
  }>(),
  /** For `uses` registrations; an initial access token, by its name. */
  'initial_token.created': tells<{ readonly initialToken: string; readonly uses: number }>(),
  'initial_token.deleted': tells<{ readonly initialToken: string }>(),
  'resource.registered': tells<{ readonly resource: string; readonly changes: Changes }>(),
  'resource.changed': tells<{ readonly resource: string; readonly changes: Changes }>(),
  'resource.deleted': tells<{ readonly resource: string }>(),
  'scope.registered': tells<{ readonly scope: string; readonly changes: Changes }>(),
  'scope.changed': tells<{ readonly scope: string; readonly changes: Changes }>(),
  'scope.deleted': tells<{ readonly scope: string }>(),
  /** A group of a directory too. Its members are users who were changed. */
  'role.registered': tells<{ readonly role: string; readonly changes: Changes }>(),
  /** `role` is what it is called from then on. */
  'role.changed': tells<{ readonly role: string; readonly changes: Changes }>(),
  /** When nobody has it any more. */
  'role.deleted': tells<{ readonly role: string }>(),
  /** `secret` where its client's secret was set, replaced or taken away, of which nothing more is said. */
  'upstream.registered': tells<{
    readonly upstream: string
    readonly changes: Changes
    readonly secret?: true
  }>(),
  'upstream.changed': tells<{
    readonly upstream: string
    readonly changes: Changes
    readonly secret?: true
  }>(),
  'upstream.deleted': tells<{ readonly upstream: string }>(),
  'trusted_issuer.registered': tells<{ readonly issuer: string; readonly changes: Changes }>(),
  'trusted_issuer.changed': tells<{ readonly issuer: string; readonly changes: Changes }>(),
  /** With what came of its JWTs. */
  'trusted_issuer.deleted': tells<{ readonly issuer: string }>(),
  'key.created': tells<{ readonly kid: string; readonly algorithm: string; readonly signsFrom: string }>(),
  /** With all that it signed; `successor` signs in its place, null where it signed no more. */
  'key.revoked': tells<{
    readonly kid: string
    readonly algorithm: string
    readonly successor: string | null
  }>(),
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
  /** What was to be done outside failed for a day, or cannot be done at all; or `count` of them, whose recipient failed all the while and was tried less. */
  'delivery.given_up': tells<{
    readonly kind: string
    readonly delivery?: string
    readonly attempts?: number
    readonly count?: number
  }>(),
  /** Somebody had it tried again, or `count` of them. */
  'delivery.retried': tells<{ readonly kind: string; readonly delivery?: string; readonly count?: number }>(),
  /** An event stream of a client, by which it hears of security events: `method` is how. */
  'stream.created': tells<{ readonly method: string }>(),
  /** `changes` are names of members; `status` where that is another. */
  'stream.changed': tells<{ readonly changes: readonly string[]; readonly status?: string }>(),
  'stream.deleted': tells<Bag>(),
  /** Somebody here had a verification event sent. */
  'stream.verification_sent': tells<Bag>(),
  /** Somebody had a test sent; `webhook` is its name, `status` of HTTP or null where no answer came. */
  'webhook.tested': tells<{
    readonly webhook: string
    readonly taken: boolean
    readonly status: number | null
  }>(),
}

/** By the type of the event: plugins add their own here. Whom it is about stands in the event itself. */
export interface EventDetails extends OwnEventDetails {}
type OwnEventDetails = typeof OWN_EVENTS

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
