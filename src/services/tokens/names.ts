/** Two names that those who make tokens and those who read them must agree on. */

/** What spends an authorization code, as `Granted.spends` names it. */
export const AUTHORIZATION_CODE = 'authorization_code'

/** The claim by which a token names its Authorization. */
export const AUTHORIZATION_ID = 'authorization_id'
