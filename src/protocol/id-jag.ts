/** The words of draft-ietf-oauth-identity-assertion-authz-grant (ID-JAG). */

/** The `typ` of its JWT, as `decodeSignedJwt` gives it. */
export const ID_JAG_TYPE = 'oauth-id-jag+jwt'
export const ID_JAG = 'urn:ietf:params:oauth:token-type:id-jag'
/** In `authorization_grant_profiles_supported`. */
export const ID_JAG_PROFILE = 'urn:ietf:params:oauth:grant-profile:id-jag'
