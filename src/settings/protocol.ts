/** Settings of the protocol: what is given and for how long, who may register and sign up, what is asked of passwords. */
import { Type } from '../protocol/schema.ts'
import { LEAST_HASH_MEMORY, Seconds } from './units.ts'

export const ProtocolSettings = {
  OIDC_TOKEN_EXPIRE: Seconds(3600, 0, 'lifetime of access tokens; 0 makes them expired at once'),
  OIDC_CODE_EXPIRE: Seconds(300, 1, 'lifetime of authorization codes'),
  OIDC_PAR_EXPIRE: Type.Integer({
    default: 60,
    minimum: 5,
    maximum: 599,
    unit: 'seconds',
    description: 'how long a browser may come with a pushed authorization request',
  }),
  OIDC_REQUIRE_PAR: Type.Boolean({
    default: false,
    description: 'every client must push its authorization requests, whatever its registration says',
  }),
  OIDC_REQUEST_OBJECT_ENCRYPTION: Type.Boolean({
    default: false,
    description: 'publishes a key to which clients may encrypt their signed requests',
  }),
  OIDC_REQUIRE_SIGNED_REQUEST_OBJECT: Type.Boolean({
    default: false,
    description: 'every client must sign its authorization requests, whatever its registration says',
  }),
  OIDC_IDTOKEN_EXPIRE: Seconds(3600, 1, 'lifetime of ID tokens'),
  OIDC_IDTOKEN_INCLUDE_CLAIMS: Type.Boolean({
    default: true,
    description: 'ID tokens carry the claims of the granted scopes; false leaves them to userinfo',
  }),
  OIDC_REFRESH_TOKEN_EXPIRE: Seconds(
    90 * 86_400,
    1,
    'age at which refresh tokens end, however often renewed',
  ),
  OIDC_REFRESH_TOKEN_IDLE: Seconds(30 * 86_400, 1, 'lifetime of a refresh token that is not used'),
  OIDC_REFRESH_REUSE_INTERVAL: Seconds(
    60,
    0,
    'how long a refresh token may be sent again by a public client that lost the answer; 0 for never, by none',
  ),
  OIDC_SIGN_UP: Type.Array(Type.String({ minLength: 1 }), {
    default: ['off'],
    expects: 'off, on, or mail domains with commas between, such as example.com,example.org',
    description:
      'whether people make accounts themselves: off, on, or with an address at one of these domains',
  }),
  OIDC_MAIL_CODE: Type.Enum(['off', 'on'], {
    default: 'off',
    description: 'whether people sign in by a code that is mailed to their verified address: off, or on',
  }),
  ADMIN_API: Type.Enum(['off', 'on'], {
    default: 'off',
    description:
      'whether programs administer the server, by tokens with the scopes latchkey:… at /admin/api/v1',
  }),
  SCIM: Type.Enum(['off', 'on'], {
    default: 'off',
    description:
      'whether directories register and end users by SCIM 2.0, by tokens with the scopes latchkey:scim:… at /scim/v2',
  }),
  SCIM_TRUST_EMAIL: Type.Boolean({
    default: false,
    description: 'whether email addresses that come by SCIM are taken as verified',
  }),
  GLOBAL_TOKEN_REVOCATION: Type.Enum(['off', 'on'], {
    default: 'off',
    description:
      'whether programs with the scope latchkey:global-token-revocation, and upstreams by their own JWTs, end all sessions and tokens of a user',
  }),
  OIDC_SHARED_SIGNALS: Type.Enum(['off', 'on'], {
    default: 'off',
    description:
      'whether apps hear of ended sessions, new credentials and disabled accounts by the OpenID Shared Signals Framework, by tokens with the scopes ssf.manage and ssf.read: off, or on',
  }),
  WEBHOOKS: Type.Array(Type.String({ minLength: 1 }), {
    default: [],
    secret: true,
    expects:
      'entries with commas between: an address, its secret (whsec_…) and names of events, with spaces between',
    description:
      'addresses that are told what happens here: each with its secret and the events, with spaces between',
  }),
  OIDC_REGISTRATION: Type.Enum(['off', 'token', 'open'], {
    default: 'off',
    description:
      'whether apps register themselves at /register: off, with an initial access token, or anybody (open)',
  }),
  OIDC_REGISTRATION_MOST: Type.Integer({
    default: 10_000,
    minimum: 1,
    maximum: 1_000_000,
    description: 'how many apps may have registered themselves',
  }),
  OIDC_REGISTRATION_AT_ONCE: Type.Integer({
    default: 20,
    minimum: 1,
    maximum: 100_000,
    description:
      'how many apps one network registers at once without an initial access token; one more each minute',
  }),
  OIDC_REGISTRATION_SCOPES: Type.Array(Type.String({ minLength: 1 }), {
    default: [],
    description:
      'registered scopes that such apps, and those known by a document, may have beside those of OpenID Connect, unless their initial access token says otherwise',
  }),
  OIDC_SOFTWARE_STATEMENT_ISSUERS: Type.Array(Type.String({ minLength: 1 }), {
    default: [],
    expects:
      'pairs of an issuer and the https address of its keys, with a space in a pair and commas between pairs',
    description:
      'whose software statements such apps may show: each issuer with the address of its keys behind a space',
  }),
  OIDC_CLIENT_METADATA_DOCUMENTS: Type.Array(Type.String({ minLength: 1 }), {
    default: ['off'],
    expects: 'off, any, or hosts with commas between, such as app.example',
    description:
      'whether the address of a document may be a client_id (off, any), or the hosts that may have such; with OIDC_PROFILE mcp any',
  }),
  OIDC_CLIENT_METADATA_CONSENT_EXPIRE: Seconds(
    90 * 86_400,
    60,
    'what people allowed such apps is asked for again after so long',
  ),
  OIDC_REGISTRATION_UNUSED: Seconds(
    30 * 86_400,
    0,
    'apps that registered themselves and got no token for so long are removed; 0 keeps them',
  ),
  OIDC_PASSWORD_MIN_LENGTH: Type.Integer({
    default: 8,
    minimum: 8,
    maximum: 64,
    unit: 'characters',
    description: 'how many a new password has at least, of whatever kind',
  }),
  OIDC_PASSWORD_HASH_MEMORY: Type.Integer({
    default: LEAST_HASH_MEMORY,
    minimum: 1024,
    maximum: 1_048_576,
    unit: 'KiB',
    description:
      'what hashing one password takes; more makes guessing dearer, should hashes ever leak; a production start takes no less than the default',
  }),
  OIDC_BREACHED_PASSWORDS: Type.String({
    default: 'off',
    pattern: '^(?:off|on|https?://[^?#]+)$',
    expects: 'off, on, or the base URL of a service like api.pwnedpasswords.com',
    description:
      'whether new passwords are looked for among those that leaked, at Have I Been Pwned or elsewhere; only five characters of a hash are sent',
  }),
  OIDC_ACCOUNT_DELETION: Type.String({
    default: '14',
    pattern: '^(?:off|[1-9]\\d?|[12]\\d\\d|3[0-5]\\d|36[0-5])$',
    takesOff: true,
    expects: 'off, or whole days from 1 to 365',
    description:
      'days after which accounts are deleted whose people asked for it, and did not keep them; off, nobody can ask',
  }),
  OIDC_SESSION_EXPIRE: Seconds(14 * 86_400, 60, 'age at which a sign-in ends'),
  OIDC_SESSION_IDLE: Seconds(86_400, 60, 'how long a sign-in lasts that is not used'),
  OIDC_INTROSPECTION_VALIDATE_AUDIENCE_SCOPE: Type.Boolean({
    default: true,
    description:
      'a token is active only for callers whose scope list names its client, and never when it came from client_credentials',
  }),
  OIDC_IMPLICIT: Type.Boolean({
    default: false,
    description:
      'old apps may have tokens with the answer of /authorize: the implicit and the hybrid flow of OpenID Connect',
  }),
  OIDC_SESSION_MANAGEMENT: Type.Boolean({
    default: false,
    description:
      'apps may ask a frame of this server whether the browser is still signed in: OpenID Connect Session Management',
  }),
  OIDC_CIBA: Type.Boolean({
    default: false,
    description:
      'apps may ask for the approval of somebody who is not at them: OpenID Connect Client-Initiated Backchannel Authentication',
  }),
  OIDC_DEFAULT_RESOURCE: Type.Optional(
    Type.String({
      minLength: 1,
      pattern: '^[a-zA-Z][a-zA-Z0-9+.-]*:[\\x21\\x22\\x24-\\x7e]+$',
      expects: 'the identifier of a resource: an absolute URI without a fragment',
      description:
        'what requests are for that name no resource, where their client has no default_resource of its own',
    }),
  ),
  OIDC_PROFILE: Type.Array(Type.String({ minLength: 1 }), {
    default: [],
    expects: 'names of profiles with commas between, such as fapi-2.0',
    description: 'rules that every client keeps: oauth-2.1, fapi-2.0, fapi-ciba, mcp',
  }),
  OIDC_ROLES_CLAIM: Type.Array(Type.Enum(['roles', 'groups']), {
    default: [],
    uniqueItems: true,
    expects: 'roles, groups, or both with a comma between',
    description: 'claims that tell apps the roles of a user, each by the scope of its name: roles, groups',
  }),
  OIDC_SIGNED_METADATA: Type.Boolean({
    default: false,
    description:
      'the metadata of the server is signed too, for clients that get it by ways that they do not trust',
  }),
  OIDC_REQUIRE_DPOP_NONCE: Type.Boolean({
    default: false,
    description: 'a DPoP proof must have a nonce that this server gave out lately',
  }),
}
