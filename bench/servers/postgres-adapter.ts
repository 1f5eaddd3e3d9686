// Owns what oidc-provider stores in PostgreSQL, as a careful operator would write it: one table, one named
// prepared statement for each operation, one upsert for each artifact, and indexes only where a value exists.

import type { Adapter, AdapterPayload } from 'oidc-provider'
import type { Pool } from 'pg'

interface Row {
  payload: AdapterPayload
  consumed: number | null
}

const schema = `
  create table if not exists artifact (
    id text not null,
    model text not null,
    payload json not null,
    grant_id text,
    user_code text,
    uid text,
    consumed bigint,
    expires_at timestamptz,
    primary key (id, model)
  );
  create index if not exists artifact_grant on artifact (grant_id) where grant_id is not null;
  create index if not exists artifact_user_code on artifact (user_code) where user_code is not null;
  create index if not exists artifact_uid on artifact (uid) where uid is not null;`

const upsert = `
  insert into artifact (id, model, payload, grant_id, user_code, uid, expires_at)
  values ($1, $2, $3, $4, $5, $6, now() + $7::int * interval '1 second')
  on conflict (id, model) do update set payload = excluded.payload, grant_id = excluded.grant_id,
    user_code = excluded.user_code, uid = excluded.uid, expires_at = excluded.expires_at`

const columns = 'payload, consumed::float8 as consumed'

export async function createTable(pool: Pool): Promise<void> {
  await pool.query(schema)
}

/** Gives oidc-provider its adapter for one model. */
export function postgresAdapter(pool: Pool, model: string): Adapter {
  const find = async (name: string, condition: string, value: string) => {
    const text = `select ${columns} from artifact where ${condition} and model = $2`
    const { rows } = await pool.query<Row>({ name, text, values: [value, model] })
    const [row] = rows
    if (!row) return undefined
    return row.consumed === null ? row.payload : { ...row.payload, consumed: row.consumed }
  }
  const execute = async (name: string, text: string, values: unknown[]) => {
    await pool.query({ name, text, values })
  }
  const now = 'extract(epoch from now())::bigint'

  return {
    upsert: (id, payload, expiresIn) => {
      const { grantId = null, userCode = null, uid = null } = payload
      const stored = JSON.stringify(payload)
      return execute('upsert', upsert, [id, model, stored, grantId, userCode, uid, expiresIn ?? null])
    },
    find: (id) => find('find', 'id = $1', id),
    findByUid: (uid) => find('find-by-uid', 'uid = $1', uid),
    findByUserCode: (userCode) => find('find-by-user-code', 'user_code = $1', userCode),
    consume: (id) =>
      execute('consume', `update artifact set consumed = ${now} where id = $1 and model = $2`, [id, model]),
    destroy: (id) => execute('destroy', 'delete from artifact where id = $1 and model = $2', [id, model]),
    revokeByGrantId: (grantId) => execute('revoke', 'delete from artifact where grant_id = $1', [grantId]),
  }
}
