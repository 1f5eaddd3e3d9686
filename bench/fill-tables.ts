// Owns what the rows of a large database look like: SQL by table, the same rows for the same sizes. Some users and
// clients hold far more than the others, most sessions were left, and some things happened thrice, long ago.

import { granted, held } from './fill-held.ts'
import { authorizationId, hash, userId, type Filling, type Sizes } from './filling.ts'

const DAYS = 90

export function fillings(sizes: Sizes): Filling[] {
  const { users, clients, events } = sizes
  const owner = (scale = 1): string => `case when n % 20 = 0 then 1 else (n / ${scale}) % ${users} + 1 end`
  const registrar = `case when n % 2 = 0 then 1 else n % ${clients} + 1 end`
  return [
    ...parties(users, clients),
    ...held(users, owner, registrar),
    ...granted(sizes, owner, registrar),
    ...passing(users),
    {
      table: 'audit_events',
      columns: 'id, at, type, actor_kind, actor_id, user_id, client_id, address, request_id, details',
      rows: events,
      values: eventOf(events, owner(5), registrar),
      distinct: true,
    },
    {
      table: 'activity',
      columns: 'hour, type, writer, count',
      rows: 35 * 24 * 12,
      values: `date_trunc('hour', now()) - n / 12 * interval '1 hour',
        (array['token.issued', 'user.signed_in', 'user.sign_in_failed'])[n % 3 + 1], md5('writer-' || n % 12 / 3)::uuid, n`,
    },
  ]
}

/** Who is registered. The last five users are administrators, one of them disabled. */
function parties(users: number, clients: number): Filling[] {
  const passwordHash = `'$argon2id$v=19$m=19456,t=2,p=1$' || left(${hash('salt')}, 22) || '$' || ${hash('password')}`
  return [
    {
      table: 'users',
      columns: 'id, username, username_key, password_hash, roles, claims, disabled_at',
      rows: users,
      values: `${userId('n')}, 'user-' || n, 'user-' || n, ${passwordHash},
        case when n > ${users - 5} then '{staff,admin}'::text[] when n % 2 = 0 then '{staff}' else '{}' end,
        jsonb_build_object('name', 'Name ' || n, 'given_name', 'Name', 'family_name', n::text,
          'email', 'mail-' || n || '@mail.example', 'email_verified', true),
        case when n = ${users} then now() end`,
    },
    {
      table: 'resources',
      columns: 'resource, name',
      rows: 1000,
      values: `'https://api-' || n || '.example', 'API ' || n`,
    },
    {
      table: 'resource_aliases',
      columns: 'name, alias, resource',
      rows: 1000,
      values: `'urn:api:' || n, 'urn:api:' || n, 'https://api-' || n || '.example'`,
    },
    {
      table: 'scopes',
      columns: 'name, description, resource',
      rows: 5000,
      values: `'scope-' || n, 'Scope ' || n, 'https://api-' || case when n % 2 = 0 then 1 else n % 1000 + 1 end || '.example'`,
    },
    {
      table: 'upstreams',
      columns: 'id, issuer, client_id, button',
      rows: 20,
      values: `'upstream-' || n, 'https://id-' || n || '.example', 'latchkey', false`,
    },
    {
      table: 'trusted_issuers',
      columns: 'issuer, generation, jwks_uri, scopes',
      rows: 20,
      values: `'https://sts-' || n || '.example', gen_random_uuid(), 'https://sts-' || n || '.example/jwks', array['scope-1']`,
    },
    {
      table: 'plugin_records',
      columns: 'kind, record_id, record_key, value',
      rows: 5000,
      values: `(array['organisation', 'team'])[n % 2 + 1], 'organisation-' || n, 'organisation-' || n || '.example', '{"name": "Organisation"}'`,
    },
    {
      table: 'clients',
      columns: 'client_id, client_name, redirect_uris, scope, metadata, registrar',
      rows: clients,
      values: `'client-' || n, 'Client ' || n, array['https://app-' || n || '.example/callback'],
        array['scope-' || n % 5000 + 1], '{}', case when n % 2 = 0 then 'registration' end`,
    },
    {
      table: 'registrations',
      columns: 'client_id, hash, allowance, used_at',
      rows: clients / 2,
      values: `'client-' || n * 2, ${hash('registration')}, '{}', now() - n * interval '1 minute'`,
    },
    {
      table: 'initial_tokens',
      columns: 'name, hash, uses_left, expires_at, allowance',
      rows: 5000,
      values: `'partner-' || n, ${hash('initial')}, 1, now() + (n % 100 - 50) * interval '1 day', '{}'`,
    },
    {
      table: 'client_documents',
      columns: 'client_id, document, read_at, fresh_until, stale_until, kept_until',
      rows: 5000,
      values: `'https://app-' || n || '.example/client.json', '{"client_name": "App"}', now(), now(), now(), now() + (n % 100 - 50) * interval '1 hour'`,
    },
    {
      table: 'security_events',
      columns: 'stream, jti, claims, expires_at',
      rows: 20_000,
      values: `'stream-' || n % 20, 'jti-' || n, '{}', now() + (n % 100 - 50) * interval '1 hour'`,
    },
    {
      table: 'plugin_records',
      columns: 'kind, record_id, record_key, value',
      rows: 20,
      values: `'event-stream', 'client-' || n, 'stream-' || n % 20, '{}'`,
    },
    {
      table: 'removed_subjects',
      columns: 'stream, subject',
      rows: 20_000,
      values: `'stream-' || n % 20, 'subject-' || n`,
    },
    {
      table: 'client_secrets',
      columns: 'id, client_id, hash',
      rows: clients,
      values: `md5('secret-' || n)::uuid, 'client-' || n, 'k1.' || ${hash('secret')}`,
    },
  ]
}

/** What comes and goes. */
function passing(users: number): Filling[] {
  const rows = Math.max(5000, users / 20)
  const when = `now() + (n % 100 - 50) * interval '1 hour'`
  return [
    {
      table: 'authorization_codes',
      columns: 'authorization_id, hash, client_id, subject, redirect_uri, granted, expires_at, spent_at',
      rows,
      values: `${authorizationId('n')}, ${hash('code')}, 'client-1', (${userId('n')})::text, 'https://app-1.example/callback', '{}',
        now() - interval '1 hour', now() - interval '1 hour'`,
    },
    {
      table: 'access_tokens',
      columns: 'hash, claims, expires_at',
      rows,
      values: `${hash('access')}, jsonb_build_object('sub', 'client-' || n), ${when}`,
    },
    { table: 'revoked_tokens', columns: 'jti, expires_at', rows, values: `md5('jti-' || n), ${when}` },
    { table: 'spent_handles', columns: 'hash, expires_at', rows, values: `md5('handle-' || n), ${when}` },
    {
      table: 'artifacts',
      columns: 'kind, hash, value, expires_at',
      rows,
      values: `'interaction', ${hash('artifact')}, '{}', ${when}`,
    },
    {
      table: 'throttles',
      columns: 'source, account, free_at',
      rows,
      values: `${hash('source')}, ${hash('account')}, now() - n % 100 * interval '1 minute'`,
    },
    {
      table: 'changes',
      columns: 'id, kind, key, changed_at, writer',
      rows,
      values: `md5('change-' || n)::uuid, 'client', 'client-' || n, now() - n * interval '1 second', (n % 700 + 3)::text::xid8`,
    },
  ]
}

/** Ids are of version 7, the oldest first; seven in ten tell of tokens. */
function eventOf(events: number, owner: string, registrar: string): string {
  const at = `now() - (${events} - n) * interval '${DAYS} days' / ${events}`
  const id = `(lpad(to_hex((extract(epoch from ${at}) * 1000)::bigint), 12, '0') || '7' || substr(md5('event-' || n), 1, 3)
    || '8' || substr(md5('event-' || n), 4, 15))::uuid`
  const type = `case when n <= 3 then 'client.deleted' when n % 10 < 7 then 'token.issued' when n % 10 < 9 then 'user.signed_in'
    when n % 100 = 9 then 'consent.withdrawn' else 'user.sign_in_failed' end`
  const byClient = 'n <= 3 or n % 10 < 7'
  const user = `(${userId(`(${owner})`)})::text`
  return `${id}, ${at}, ${type}, case when ${byClient} then 'client' else 'user' end,
    case when ${byClient} then 'client-' || (${registrar}) else ${user} end,
    case when n % 10 >= 7 or n % 2 = 1 then ${user} end, case when ${byClient} then 'client-' || (${registrar}) end,
    '192.0.2.' || n % 256, md5('request-' || n)::uuid::text, '{"grant_type": "authorization_code"}'`
}
