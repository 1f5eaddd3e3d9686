import { startEmbeddedPostgres } from '../src/services/database/embedded-postgres.ts'
import { openDatabase } from '../src/store/database.ts'
import { migrate } from '../src/store/migrate.ts'
import { statements } from '../src/store/refresh-tokens.ts'
import { createHandle, hashOf } from '../src/protocol/handle.ts'
import { createUuid } from '../src/protocol/uuid.ts'
import { randomUUID } from 'node:crypto'
import pg from 'pg'
import { readFileSync } from 'node:fs'
const e = await startEmbeddedPostgres({ dataDir: '/tmp/zz/data', database: 'x' + process.pid })
await migrate({ url: e.url })
const c = new pg.Client({ connectionString: e.url }); await c.connect()
const variant = process.argv[2]!
if (variant !== 'A') { await c.query('drop index refresh_tokens_unconsumed_index'); await c.query('create index z on refresh_tokens (authorization_id, created_at)') }
if (variant === 'C') await c.query('alter table refresh_tokens set (fillfactor = 70)')
const newId = process.argv[3] === '4' ? randomUUID : () => createUuid()
const N = 20000, K = 5
const ids = Array.from({ length: N }, () => newId())
let tokens = ids.map((id) => createHandle(id, 'lkr_'))
for (let i = 0; i < N; i += 1000) {
  await c.query(`insert into authorizations (id, client_id, subject, scopes, resources, parameters) select x, 'c', 's', '{openid}', '{}', '{}' from unnest($1::uuid[]) x`, [ids.slice(i, i + 1000)])
  await c.query(`insert into refresh_tokens (authorization_id, hash, expires_at) select a, h, now() + interval '1 day' from unnest($1::uuid[], $2::text[]) x (a, h)`, [ids.slice(i, i + 1000), tokens.slice(i, i + 1000).map(hashOf)])
}
await c.query('checkpoint')
const db = await openDatabase({ url: e.url })
const [{ pid }] = (await c.query('select pg_backend_pid() pid')).rows
const ppid = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]!.split(' ')[1]
const { readdirSync } = await import('node:fs')
const cpu = () => { let t = 0; for (const p of readdirSync('/proc')) { if (!/^\d+$/.test(p)) continue; try { const f = readFileSync(`/proc/${p}/stat`, 'utf8').split(') ')[1]!.split(' '); if (f[1] === ppid) { t += Number(readFileSync(`/proc/${p}/schedstat`, 'utf8').split(' ')[0]) / 1000 } } catch {} } return t }
const lsn = async () => (await c.query('select pg_current_wal_lsn() l')).rows[0].l
const seal = 'x'.repeat(43)
for (let round = 0; round < K; round++) {
  const [l0, c0, m0] = [await lsn(), cpu(), process.cpuUsage().user]
  const next: string[] = []
  for (let i = 0; i < N; i += 32) await Promise.all(tokens.slice(i, i + 32).map(async (t, j) => { const s = createHandle(ids[i + j]!, 'lkr_'); next[i + j] = s; const r = await db.query(statements.rotate, [ids[i + j], hashOf(t), hashOf(s), seal, 1000000]); if (r.length !== 1) throw 1 }))
  tokens = next
  const { rows } = await c.query('select pg_wal_lsn_diff($1, $2) d', [await lsn(), l0])
  const st = (await c.query(`select pg_relation_size('refresh_tokens') h, pg_indexes_size('refresh_tokens') i`)).rows[0]
  console.log(variant, process.argv[3], 'round', round, 'wal/op', Math.round(rows[0].d / N), 'pgcpu/op', Math.round((cpu() - c0) / N), 'node', Math.round((process.cpuUsage().user - m0) / N), 'heap', st.h / 1e6, 'idx', st.i / 1e6)
}
console.log((await c.query(`select n_tup_upd, n_tup_hot_upd from pg_stat_user_tables where relname='refresh_tokens'`)).rows)
await db.close(); await c.end(); await e.stop()
