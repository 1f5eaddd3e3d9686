/**
 * Every setting, explained once: the whole configuration as one schema, and the type that is derived from it.
 * `config.ts` parses the environment against it.
 */
import type { Static } from 'typebox'
import { Type } from './protocol/schema.ts'

const Seconds = (fallback: number, minimum: number, description: string) =>
  Type.Integer({ default: fallback, minimum, maximum: 10 * 365 * 86_400, description, unit: 'seconds' })

/** KiB for argon2id with two passes and one lane: what OWASP asks for at least. */
export const LEAST_HASH_MEMORY = 19_456

export const Settings = Type.Object({
  NODE_ENV: Type.Optional(Type.String({ description: '`production` makes this a production start' })),
  HOST: Type.String({ default: '127.0.0.1', minLength: 1, description: 'address to listen on' }),
  PORT: Type.Optional(
    Type.Integer({
      minimum: 0,
      maximum: 65_535,
      description: 'port to listen on (3000, or the next free one)',
    }),
  ),
  OIDC_ISSUER: Type.Optional(Type.String({ description: 'public base URL of the server; may have a path' })),
  DATABASE_URL: Type.Optional(
    Type.String({ secret: true, description: 'PostgreSQL 15+; without it, an embedded one in DATA_DIR' }),
  ),
  DATABASE_REPLICA_URL: Type.Optional(
    Type.String({
      secret: true,
      description:
        'a streaming replica of it, from which the administration reads lists, the audit log and the dashboard',
    }),
  ),
  DATABASE_SCHEMA: Type.Optional(
    Type.String({
      pattern: '^(?!pg_)[a-z_][a-z0-9_]{0,62}$',
      expects: 'lower-case letters, digits and underscores',
      description:
        'schema of our tables, made where there is none; without it, the one that connections look in',
    }),
  ),
  DATABASE_POOL_SIZE: Type.Integer({
    default: 10,
    minimum: 2,
    maximum: 500,
    description: 'database connections of one process',
  }),
  DATABASE_PREPARE: Type.Boolean({
    default: true,
    description: 'prepared statements; false for poolers that break them',
  }),
  DATA_DIR: Type.String({
    default: './data',
    minLength: 1,
    description: 'embedded database and generated secrets',
  }),
  SECRET_KEY: Type.Optional(
    Type.Array(Type.String({ minLength: 32 }), {
      minItems: 1,
      secret: true,
      expects: 'a string of 32 characters or more, or several with commas between',
      description:
        'encrypts signing keys and peppers hashes; 32 characters or more; a comma-separated list, the first for new values',
    }),
  ),
  KEYS: Type.Array(Type.String({ minLength: 1 }), {
    default: ['database'],
    minItems: 1,
    secret: true,
    expects: 'database, or addresses of stores such as pkcs11:token=example?module-path=/usr/lib/module.so',
    description:
      'where signing keys are made, the first that can; others that follow are used for the keys that they have: database, or pkcs11:…',
  }),
  KEYS_AT_ONCE: Type.Integer({
    default: 16,
    minimum: 1,
    maximum: 256,
    description: 'signatures that one process asks of such a store at a time',
  }),
  PKCS11_PIN: Type.Optional(
    Type.String({
      secret: true,
      minLength: 1,
      description: 'the PIN of the PKCS #11 token in KEYS, where no pin-source there names a file',
    }),
  ),
  SEED_FILE: Type.Optional(
    Type.String({
      minLength: 1,
      description: 'JSON file with users, clients, scopes and resources, applied at start',
    }),
  ),
  PLUGINS: Type.Array(Type.String({ minLength: 1 }), {
    default: [],
    description: 'modules to register: paths or package names',
  }),
  WITHOUT: Type.Array(Type.String({ minLength: 1 }), {
    default: [],
    description: 'plugins of ours to leave out, by their names such as latchkey-introspection',
  }),
  SMTP_URL: Type.Optional(
    Type.String({
      secret: true,
      description:
        'the server that takes mails, such as smtps://user:password@mail.example.com; without it, mails are off in production',
    }),
  ),
  MAIL_FROM: Type.Optional(
    Type.String({
      minLength: 1,
      description: 'whom mails come from, such as Example <login@example.com>; with SMTP_URL',
    }),
  ),
  NOTIFY_NEW_BROWSERS: Type.Boolean({
    default: false,
    description:
      'people get a mail when somebody signs in to their account with a browser that it does not know',
  }),
  OIDC_SECOND_FACTOR_ROLES: Type.Array(Type.String({ minLength: 1 }), {
    default: [],
    description: 'roles whose people sign in with a second factor, such as admin',
  }),
  UNSAFE_OUTBOUND_ORIGINS: Type.Array(Type.String({ minLength: 1 }), {
    default: [],
    description:
      'origins that this server may ask though they are private, this machine, or plain http, such as http://10.0.0.5:8080',
  }),
  WORKERS: Type.Integer({ default: 1, minimum: 1, maximum: 64, description: 'processes on this machine' }),
  WORKERS_SPREAD: Type.Boolean({
    default: true,
    description:
      'connections are spread over all workers; false leaves them to as few as can answer them, which may take less of a quiet machine',
  }),
  SHUTDOWN_DELAY: Type.Integer({
    default: 0,
    minimum: 0,
    maximum: 300,
    unit: 'seconds',
    description:
      'how long requests are still taken after SIGTERM, for balancers to learn from /readyz that it stops',
  }),
  TRUSTED_PROXIES: Type.Array(Type.String({ minLength: 1 }), {
    default: [],
    description: 'addresses and networks of proxies: their X-Forwarded-For says where a request comes from',
  }),
  CLIENT_CERTIFICATE_HEADER: Type.Optional(
    Type.String({
      pattern: "^[A-Za-z0-9!#$%&'*+.^_`|~-]{1,100}$",
      expects: 'the name of a header',
      description:
        'in which a proxy of TRUSTED_PROXIES hands on the certificate that a client has shown: PEM, percent-encoded, or as RFC 9440 has it',
    }),
  ),
  CLIENT_CERTIFICATE_AUTHORITIES: Type.Optional(
    Type.String({
      minLength: 1,
      description:
        'who issues certificates of clients for tls_client_auth: a file of theirs in PEM, or `proxy` where the proxy has checked that',
    }),
  ),
  OIDC_MTLS_ORIGIN: Type.Optional(
    Type.String({
      minLength: 1,
      description:
        'an origin of the proxy at which TLS asks clients for certificates, for mtls_endpoint_aliases',
    }),
  ),
  METRICS_PORT: Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: 65_535,
      description: 'port of a listener for metrics in the format of Prometheus, at /metrics',
    }),
  ),
  METRICS_HOST: Type.String({
    default: '127.0.0.1',
    minLength: 1,
    description: 'address on which the metrics are, for whoever reaches it',
  }),
  LOG_LEVEL: Type.Enum(['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'], {
    default: 'info',
    description: 'a successful request is logged at debug',
  }),
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
    description: 'rules that every client keeps: oauth-2.1, fapi-2.0, mcp',
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
  BRAND_NAME: Type.String({
    default: 'Latchkey',
    pattern: '^(?!\\s)[^\\p{Cc}\\p{Zl}\\p{Zp}]{1,60}$',
    expects: 'a line of 60 characters at most',
    description: 'what the service is called, on pages and in mails',
  }),
  BRAND_LOGO: Type.Optional(
    Type.String({
      minLength: 1,
      description:
        'a picture beside the name: a file that ends in .svg, .png, .webp or .jpg, or an https address',
    }),
  ),
  BRAND_COLOR: Type.Optional(
    Type.String({
      pattern: '^#[0-9A-Fa-f]{6}$',
      expects: 'a colour such as #0b6b5e',
      description:
        'of buttons and links, such as #0b6b5e; links are made darker or lighter where they could not be read',
    }),
  ),
  BRAND_DIRECTORY: Type.Optional(
    Type.String({
      minLength: 1,
      description:
        'a folder with a stylesheet, pictures, fonts, words and templates of your own; latchkey brand init begins one',
    }),
  ),
  BRAND_SUPPORT_URL: Type.Optional(
    Type.String({
      description: 'where people get help: an https or mailto address, at the foot of each page',
    }),
  ),
  BRAND_POLICY_URL: Type.Optional(
    Type.String({ description: 'the privacy policy of the service, at the foot of each page' }),
  ),
  BRAND_TERMS_URL: Type.Optional(
    Type.String({ description: 'the terms of the service, at the foot of each page' }),
  ),
  UI_LOCALES: Type.Array(Type.String({ pattern: '^[A-Za-z]{2,8}(?:-[A-Za-z0-9]{1,8})*$' }), {
    default: ['en', 'de', 'es'],
    minItems: 1,
    expects: 'language tags with commas between, such as en,de,es',
    description:
      'languages of pages and mails; the first is for who reads none of them; more than en, de and es need a catalogue of yours',
  }),
  OIDC_SIGN_SYNCHRONOUSLY: Type.Boolean({
    default: true,
    description:
      'ES256 access tokens are signed on the request path; false hands them to the thread pool by jose',
  }),
  OIDC_KEY_ROTATE: Seconds(90 * 86_400, 0, 'age at which a signing key is replaced; 0 for never'),
  OIDC_KEY_PUBLISH: Seconds(35, 3, 'how long a new signing key is published before it signs'),
  OIDC_AUDIT_EXPIRE: Seconds(365 * 86_400, 0, 'age at which audit events are removed; 0 keeps them'),
  OIDC_AUDIT_TOKENS: Type.Enum(['each', 'merged'], {
    default: 'each',
    description:
      '`each`: the audit log names the Authorization of each token of a user; `merged`: of the first 200 in a second, the others are counted by client',
  }),
  OIDC_JANITOR_INTERVAL: Seconds(
    60,
    0,
    'how often what has expired is removed from the database; 0 for never, where another process does it',
  ),
})
export type Settings = Static<typeof Settings>
