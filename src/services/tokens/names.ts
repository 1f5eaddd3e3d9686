/** A name that those who make tokens and those who read them must agree on. */

/** The claim by which a token names its Authorization. */
export const AUTHORIZATION_ID = 'authorization_id'
