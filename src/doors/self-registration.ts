/** Clients that register by themselves (RFC 7591) and manage what they registered (RFC 7592): what a plugin that lets them gets. */

/** The door of our own registration endpoint. */
export const REGISTRAR = 'registration'

/** What a client may have beyond what everybody has. */
export interface SelfRegistrationAllowance {
  /**
   * Registered scopes that they may have beside those of OpenID Connect, which everybody has; they get all where they name none.
   * Default none.
   */
  readonly scopes?: readonly string[] | undefined
  /**
   * Whether who names some of them may ask for the others later, too: people decide. A software statement's stay. Default false.
   */
  readonly growingScope?: boolean | undefined
  /**
   * Grants that they may use. Default `authorization_code`, `refresh_token` and, where it is served, `implicit`: a person approves
   * each.
   */
  readonly grantTypes?: readonly string[] | undefined
  /** Hosts that redirect URIs may have. Default any. */
  readonly redirectHosts?: readonly string[] | undefined
}

export interface SelfRegistrationOptions extends SelfRegistrationAllowance {
  /** How many clients there may be by this door; who comes when there are so many is refused, over all processes. */
  readonly most: number
}

/** A client's registration in the words of RFC 7591 §3.2.1. */
export interface Registration {
  readonly client_id: string
  /** Seconds since the epoch. */
  readonly client_id_issued_at: number
  /** Where it is made. */
  readonly client_secret?: string
  /** With the secret: it does not expire. */
  readonly client_secret_expires_at?: 0
  readonly [member: string]: unknown
}

/**
 * What anybody may do for a client of their own. They have what is `open` of the metadata, and nothing by which we would trust
 * them more than a stranger. Every error is an `OAuthError` with a code of RFC 7591 §3.2.2, or 429 while there are too many.
 */
export interface SelfRegistration {
  /** Registers a new client, under a client_id that is made for it. `allowance` of its own takes the place of the door's. */
  create(metadata: unknown, allowance?: SelfRegistrationAllowance): Promise<Registration>
  /**
   * Without its secret, but for one that `replace` made for the same `shown`; null where there is none by this door. Throws `TypeError`
   * for a `shown` that is no text.
   */
  find(clientId: string, shown?: string): Promise<Registration | null>
  /**
   * The registration is this from now on, all of it (RFC 7592 §2.2): `metadata` names the `client_id`. `access_denied` (403)
   * where an administrator has set members that clients may not set by themselves. A secret that this makes follows from `shown`, by which
   * the app has proven who it is: it is told again to whoever shows that again, as the answer was lost. Without `shown` it is told once.
   */
  replace(
    clientId: string,
    metadata: unknown,
    allowance?: SelfRegistrationAllowance,
    shown?: string,
  ): Promise<Registration>
  /** With its tokens; false where there is none by this door. `access_denied` as for `replace`. */
  delete(clientId: string): Promise<boolean>
}
