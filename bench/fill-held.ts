// Owns what users and clients hold in a large database: sessions, consents, Authorizations and their refresh tokens.

import { authorizationId, hash, userId, type Filling, type Sizes } from './filling.ts'

/** What users hold: of the sessions one in a hundred is open. */
export function held(users: number, owner: (scale?: number) => string, registrar: string): Filling[] {
  const ago = (span: number): string => `now() - n * interval '${span} days' / ${users}`
  return [
    {
      table: 'sessions',
      columns:
        'hash, sid, user_id, authenticated_at, amr, user_agent, address, created_at, last_seen_at, expires_at, ends_at',
      rows: users / 5,
      values: `${hash('session')}, md5('sid-' || n)::uuid, ${userId(`(${owner()})`)}, ${ago(50)}, '{pwd}',
        'Mozilla/5.0 (X11; Linux x86_64; rv:145.0) Gecko/20100101 Firefox/145.0', '192.0.2.' || n % 256, ${ago(50)}, ${ago(50)},
        case when n % 100 = 0 then now() + interval '1 hour' else ${ago(50)} end, ${ago(50)} + interval '14 days'`,
    },
    {
      table: 'consents',
      columns: 'user_id, client_id, scopes, resources',
      rows: users,
      values: `${userId(`(${owner()})`)}, 'client-' || (${registrar}), '{openid,profile}', '{}'`,
    },
  ]
}

/** What clients hold of users: of the Authorizations nine tenths live. */
export function granted(sizes: Sizes, owner: () => string, registrar: string): Filling[] {
  const { users, authorizations = users } = sizes
  const ago = (span: number, of: number): string => `now() - n * interval '${span} days' / ${of}`
  return [
    {
      table: 'authorizations',
      columns:
        'id, client_id, subject, scopes, resources, parameters, authentication, created_at, revoked_at, kept_until',
      rows: authorizations,
      values: `${authorizationId('n')}, 'client-' || (${registrar}), (${userId(`(${owner()})`)})::text, '{openid,profile}', '{}', '{}',
        ('{"time": 1763000000, "amr": ["pwd"], "sid": "' || md5('sid-' || n)::uuid || '"}')::jsonb, ${ago(30, authorizations)},
        case when n % 10 = 0 then ${ago(29, authorizations)} end, now() + interval '20 days' - n % 100 * interval '5 hours'`,
      distinct: true,
    },
    {
      table: 'refresh_tokens',
      columns: 'authorization_id, hash, created_at, expires_at, generation, sealed',
      rows: authorizations,
      values: `${authorizationId('n')}, ${hash('refresh')}, ${ago(20, authorizations)}, now() + interval '10 days', 2, repeat('s', 59)`,
      distinct: true,
    },
  ]
}
