/** What an event tells, as a type: each table of events beside this is written with it. */

/**
 * A client from which something of a user's was taken, or that a session of theirs that ends had signed in to, and these sessions (`sid`):
 * 500 at most, so who has as many may have had more.
 */
export interface EndedClient {
  readonly client: string
  readonly sids: readonly string[]
}

/** What ends tells whom it was taken from, those included whose `offline_access` outlives a session. */
export interface Ended {
  readonly clients: readonly EndedClient[]
}

/** What an event of a type tells: nothing but its type is of use. */
// oxlint-disable-next-line typescript/no-unnecessary-type-parameters -- it is all that it is for.
export const tells = <Details>(): Details => undefined as Details
