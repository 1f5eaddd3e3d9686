// Owns what sign-ins leave in the database that has expired since: SQL for so many of them at once.

import type { ClientBase } from 'pg'

/** Of one sign-in: with a page that was shown, and two refreshes; one code in twenty was never exchanged. */
const tables = [
  {
    name: 'authorizations',
    each: 1,
    insert: `authorizations (id, client_id, subject, scopes, resources, parameters, created_at, kept_until)
      select id, 'client-1', id::text, '{openid,profile}', '{}', '{}', now() - interval '100 days', now() - interval '1 minute'`,
    gone: 'kept_until < now()',
  },
  {
    name: 'refresh_tokens',
    each: 1,
    insert: `refresh_tokens (authorization_id, hash, created_at, expires_at, generation, sealed)
      select id, hash, now() - interval '100 days', now() - interval '60 days', 2, hash || hash`,
    gone: 'expires_at < now()',
  },
  {
    name: 'authorization_codes',
    each: 0.05,
    insert: `authorization_codes (authorization_id, hash, client_id, subject, redirect_uri, granted, expires_at)
      select id, hash, 'client-1', id::text, 'https://app-1.example/callback', '{}', now() - interval '1 minute'`,
    where: 'n % 20 = 0',
    gone: 'expires_at < now() and spent_at is null',
  },
  {
    name: 'sessions',
    each: 1,
    insert: `sessions (hash, sid, user_id, authenticated_at, amr, user_agent, address, expires_at, ends_at)
      select hash, id, (select id from users limit 1), now() - interval '20 days', '{pwd}',
        'Mozilla/5.0 (X11; Linux x86_64; rv:145.0) Gecko/20100101 Firefox/145.0', '192.0.2.1',
        now() - interval '19 days', now() - interval '1 minute'`,
    gone: 'ends_at < now()',
  },
  {
    name: 'artifacts',
    each: 1,
    insert: `artifacts (kind, hash, value, expires_at)
      select 'interaction', hash, jsonb_build_object('request', repeat(hash, 10)), now() - interval '1 minute'`,
    gone: 'expires_at < now()',
  },
  {
    name: 'access_tokens',
    each: 1,
    insert: `access_tokens (hash, authorization_id, claims, expires_at)
      select hash, id, jsonb_build_object('sub', id, 'jti', hash), now() - interval '2 hours'`,
    gone: `expires_at < now() - interval '1 hour'`,
  },
] as const

/** Rows of one sign-in. */
export const rowsEach = tables.reduce((sum, { each }) => sum + each, 0)

export async function addExpired(client: ClientBase, signIns: number): Promise<void> {
  await client.query('set synchronous_commit = off')
  await client.query(`create temporary table left_behind as
    select n, gen_random_uuid() as id, md5(random()::text) || left(md5(random()::text), 10) as hash
    from generate_series(1, $1::int) n`, [Math.ceil(signIns)]) // prettier-ignore
  for (const { insert, ...more } of tables) {
    const where = 'where' in more ? ` where ${more.where}` : ''
    await client.query(`insert into ${insert} from left_behind${where}`)
  }
  await client.query('drop table left_behind')
  await client.query(`analyze ${tables.map(({ name }) => name).join(', ')}`)
}

/** Rows of these tables that are there and may be removed. */
export async function countExpired(client: ClientBase): Promise<number> {
  const counts = tables.map(({ name, gone }) => `(select count(*) from ${name} where ${gone})`)
  const { rows } = await client.query<{ count: string }>(`select ${counts.join(' + ')} as count`)
  return Number(rows[0]!.count)
}
