/** Single-use and polled things: each is spent, or replaced, by one guarded statement. */
import { Artifact } from '../entities/artifact.ts'
import { User } from '../entities/user.ts'
import { isAhead, statement, type Table, type TableOf } from './statement.ts'

type Listed = Pick<Artifact, 'kind' | 'hash' | 'value' | 'expiresAt'>

export const statements = {
  /** Its hash first, by which those that travel together are put in order. */
  put: statement<{ stored: true }>(
    'artifact-put',
    (table) => insert(table(Artifact), 'null', '', { kind: '$2', hash: '$1' }),
    'with writers',
  ),
  /** One of the owner $5, where those with the least time left give way so that there are $6 at most. */
  putOwned: statement<{ stored: true }>('artifact-put-owned', (table) => {
    const artifact = table(Artifact)
    return makingRoom(artifact, insert(artifact, '$5::text'))
  }),
  /** The same of a user, whose row is locked as who deletes them begins with it. */
  putOfUser: statement<{ stored: true }>('artifact-put-of-user', (table) => {
    const [artifact, user] = [table(Artifact), table(User)]
    const there = `from ${user.name} where ${user.column('id')} = $5::text::uuid for key share`
    return makingRoom(artifact, insert(artifact, '$5::text', there))
  }),
  get: statement<Pick<Artifact, 'value'>>(
    'artifact-get',
    (table) => {
      const artifact = table(Artifact)
      return `select ${artifact.columns('value')} from ${artifact.name} where ${isThis(artifact)}`
    },
    'with readers',
  ),
  replace: statement<{ replaced: true }>('artifact-replace', (table) => {
    const artifact = table(Artifact)
    const [value, revision] = [artifact.column('value'), artifact.column('revision')]
    return `update ${artifact.name} set ${value} = $4, ${revision} = ${revision} + 1
      where ${isThis(artifact)} and ${value} = $3 returning true as "replaced"`
  }),
  spend: statement<Pick<Artifact, 'value'>>('artifact-spend', (table) => {
    const artifact = table(Artifact)
    return `update ${artifact.name} set ${artifact.column('spentAt')} = now()
      where ${isThis(artifact)} returning ${artifact.columns('value')}`
  }),
  delete: statement<{ deleted: true }>('artifact-delete', (table) => {
    const artifact = table(Artifact)
    return `delete from ${artifact.name} where ${isThis(artifact)} returning true as "deleted"`
  }),
  /** Of the owner $1 and the kind $2, behind the hash $3, at most $4. An owner has so few that they are put in order here. */
  list: statement<Listed>('artifacts-list', (table) => {
    const artifact = table(Artifact)
    const [kind, hash] = [artifact.column('kind'), artifact.column('hash')]
    return `with owned as materialized (${owned(artifact)} and ${kind} = $2)
      select * from owned where ${hash} > $3 order by ${hash} limit $4`
  }),
  /** Of all kinds, behind the kind $2 and the hash $3. */
  listAll: statement<Listed>('artifacts-of-owner', (table) => {
    const artifact = table(Artifact)
    const place = `${artifact.column('kind')}, ${artifact.column('hash')}`
    return `with owned as materialized (${owned(artifact)})
      select * from owned where (${place}) > ($2, $3) order by ${place} limit $4`
  }),
  /** All that the owner $1 has, spent or not. */
  deleteOwned: statement('artifacts-delete-owned', (table) => {
    const artifact = table(Artifact)
    return `delete from ${artifact.name} where ${artifact.column('owner')} = $1`
  }),
  /** The same of the kind $2; returns them, and whether each was there still. */
  deleteOwnedOfKind: statement<Pick<Artifact, 'value'> & { isThere: boolean }>(
    'artifacts-delete-owned-of-kind',
    (table) => {
      const artifact = table(Artifact)
      return `delete from ${artifact.name} where ${artifact.column('owner')} = $1 and ${artifact.column('kind')} = $2
      returning ${artifact.columns('value')}, ${isThere(artifact)} as "isThere"`
    },
  ),
}

/** Spends what is there of the kind, under one of the hashes, on a condition; for a statement that stores what it gives. */
export function spending(
  table: TableOf,
  at: Readonly<{ kind: string; hashes: string }>,
  condition: string,
): string {
  const artifact = table(Artifact)
  return `update ${artifact.name} set ${artifact.column('spentAt')} = now()
      where ${isThis(artifact, at)} and ${condition} returning true`
}

/** What is there of the kind, under one of the hashes. */
function isThis(artifact: Table<Artifact>, at = { kind: '$1', hashes: '$2' }): string {
  return `${artifact.column('kind')} = ${at.kind} and ${artifact.column('hash')} = any(${at.hashes}) and ${isThere(artifact)}`
}

function isThere(artifact: Table<Artifact>): string {
  return `${artifact.column('spentAt')} is null and ${isAhead(artifact.column('expiresAt'))}`
}

function owned(artifact: Table<Artifact>): string {
  return `select ${artifact.columns('kind', 'hash', 'value', 'expiresAt')} from ${artifact.name}
    where ${artifact.column('owner')} = $1 and ${isThere(artifact)}`
}

/** Only what is stored takes the place of others. */
function makingRoom(artifact: Table<Artifact>, stored: string): string {
  const [kind, hash, owner] = (['kind', 'hash', 'owner'] as const).map((one) => artifact.column(one))
  return `with stored as (${stored}),
    older as (select ${kind}, ${hash} from ${artifact.name}
      where ${owner} = $5::text and ${kind} = $1 and ${hash} <> $2
      order by ${artifact.column('expiresAt')} desc offset $6::int - 1),
    gone as (delete from ${artifact.name} using older
      where ${artifact.name}.${kind} = older.${kind} and ${artifact.name}.${hash} = older.${hash}
        and exists (select from stored))
    select "stored" from stored`
}

function insert(
  artifact: Table<Artifact>,
  owner: string,
  there = '',
  at = { kind: '$1', hash: '$2' },
): string {
  const columns = (['kind', 'hash', 'value', 'expiresAt', 'owner'] as const).map((one) =>
    artifact.column(one),
  )
  const again = (['value', 'expiresAt', 'owner'] as const).map((one) => artifact.column(one))
  // A handle whose former thing is dead may be used again.
  return `insert into ${artifact.name} as had (${columns.join(', ')})
    select ${at.kind}::text, ${at.hash}::text, $3::jsonb, now() + make_interval(secs => $4), ${owner} ${there}
    on conflict (${columns[0]}, ${columns[1]}) do update
      set ${again.map((one) => `${one} = excluded.${one}`).join(', ')},
        ${artifact.column('revision')} = 0, ${artifact.column('spentAt')} = null
    where had.${artifact.column('expiresAt')} <= now()
    returning true as "stored"`
}
