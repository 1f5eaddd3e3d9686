/** Settings of a process: where it listens, what it stores and under which keys, whom it speaks to, what it logs. */
import { Type } from '../protocol/schema.ts'

export const ProcessSettings = {
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
  OUTBOUND_PROXY: Type.Optional(
    Type.String({
      secret: true,
      description:
        'proxy (http://…, or https://…) by which this server asks all addresses but those of UNSAFE_OUTBOUND_ORIGINS',
    }),
  ),
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
  MTLS_PORT: Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: 65_535,
      description: 'port of a listener of our own TLS that asks clients for certificates',
    }),
  ),
  MTLS_HOST: Type.Optional(
    Type.String({ minLength: 1, description: 'address on which it listens; HOST where it is not said' }),
  ),
  MTLS_CERTIFICATE: Type.Optional(
    Type.String({
      minLength: 1,
      description: 'its own certificate, with those of who issued it: a file in PEM',
    }),
  ),
  MTLS_KEY: Type.Optional(Type.String({ minLength: 1, description: 'the key of that: a file in PEM' })),
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
}
