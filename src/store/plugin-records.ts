/** Records of plugins that belong to no user: each is written, replaced and deleted by one guarded statement, under its kind. */
import { PluginRecord } from '../entities/plugin-record.ts'
import { statement, type Table } from './statement.ts'

/** Where one is, and what is sealed in it; null for one that is not. */
export interface PlacedPluginRecordRow extends Pick<PluginRecord, 'kind' | 'id'> {
  readonly value: string | null
}

export type PluginRecordRow = Pick<PluginRecord, (typeof READ)[number]>

const READ = ['id', 'key', 'value', 'revision', 'createdAt', 'updatedAt'] as const

/** Rows that are looked through at a time. */
const BATCH = 200

/** In each but `next`, $1 is the kind. */
export const statements = {
  /** Behind the id $2, at most $3. */
  list: statement<PluginRecordRow>('plugin-records-list', (table) => {
    const record = table(PluginRecord)
    const id = record.column('id')
    return `select ${record.columns(...READ)} from ${record.name}
      where ${record.column('kind')} = $1 and ${id} > $2 order by ${id} limit $3`
  }),
  get: statement<PluginRecordRow>('plugin-record-get', (table) => {
    const record = table(PluginRecord)
    return `select ${record.columns(...READ)} from ${record.name} where ${isThis(record)}`
  }),
  find: statement<PluginRecordRow>('plugin-record-find', (table) => {
    const record = table(PluginRecord)
    return `select ${record.columns(...READ)} from ${record.name} where ${isFound(record)}`
  }),
  /** Those whose key is one of $2. */
  findAll: statement<PluginRecordRow & { key: string }>('plugin-records-find', (table) => {
    const record = table(PluginRecord)
    return `select ${record.columns(...READ)} from ${record.name}
      where ${record.column('kind')} = $1 and ${record.column('key')} = any($2::text[])`
  }),
  /** Until the end of the transaction nobody else changes it. */
  lock: statement<PluginRecordRow>('plugin-record-lock', (table) => {
    const record = table(PluginRecord)
    return `select ${record.columns(...READ)} from ${record.name} where ${isThis(record)} for update`
  }),
  /** Where there are fewer than $5. Who come at the same moment do not see each other: it keeps a table small, and is no rule. */
  put: statement<{ stored: boolean; full: boolean }>('plugin-record-put', (table) => {
    const record = table(PluginRecord)
    const columns = (['kind', 'id', 'value', 'key'] as const).map((one) => record.column(one))
    // In the order of the index, so that it is read and not the table.
    const others = `select from ${record.name} where ${columns[0]} = $1 order by ${columns[1]} offset $5::int - 1`
    return `with crowd as (select exists (${others}) as "full"),
      stored as (insert into ${record.name} (${columns.join(', ')})
        select $1, $2, $3::jsonb, $4 from crowd where not "full" on conflict do nothing returning true)
      select exists (select from stored) as "stored", "full" from crowd`
  }),
  /** Fails (23505) where its key is another's. */
  replace: statement<{ replaced: true }>('plugin-record-replace', (table) => {
    const record = table(PluginRecord)
    const revision = record.column('revision')
    return `update ${record.name} set ${record.column('value')} = $3::jsonb, ${record.column('key')} = $4,
        ${revision} = ${revision} + 1, ${record.column('updatedAt')} = now()
      where ${isThis(record)} and ${revision} = $5 returning true as "replaced"`
  }),
  /** Those whose keys are among $2 are no longer what was read of them, since something of theirs that stands elsewhere has changed. */
  touch: statement('plugin-records-touch', (table) => {
    const record = table(PluginRecord)
    const [kind, id, revision] = [record.column('kind'), record.column('id'), record.column('revision')]
    // Each in the same order, so that none waits for one who waits for it.
    return `with those as materialized (select ${record.columns('id')} from ${record.name}
        where ${kind} = $1 and ${record.column('key')} = any($2::text[]) order by ${id} for update)
      update ${record.name} set ${revision} = ${revision} + 1, ${record.column('updatedAt')} = now()
      where ${kind} = $1 and ${id} = any(array(select "id" from those))`
  }),
  /** Another way to write the same ($3) in the place of what was read ($4). */
  reseal: statement('plugin-record-reseal', (table) => {
    const record = table(PluginRecord)
    const value = record.column('value')
    return `update ${record.name} set ${value} = $3::jsonb where ${isThis(record)} and ${value} = $4::jsonb`
  }),
  /** The next ones of all kinds, behind the kind $1 and the id $2. */
  next: statement<PlacedPluginRecordRow>('plugin-records-next', (table) => {
    const record = table(PluginRecord)
    const value = record.column('value')
    const place = `${record.column('kind')}, ${record.column('id')}`
    return `select ${record.columns('kind', 'id')}, case when jsonb_typeof(${value}) = 'string' then ${value} end as "value"
      from ${record.name} where (${place}) > ($1, $2) order by ${place} limit ${BATCH}`
  }),
  delete: statement<{ deleted: true }>('plugin-record-delete', (table) => {
    const record = table(PluginRecord)
    return `delete from ${record.name} where ${isThis(record)} returning true as "deleted"`
  }),
  /** The one whose key is $2. */
  deleteFound: statement<{ deleted: true }>('plugin-record-delete-found', (table) => {
    const record = table(PluginRecord)
    return `delete from ${record.name} where ${isFound(record)} returning true as "deleted"`
  }),
}

function isThis(record: Table<PluginRecord>): string {
  return `${record.column('kind')} = $1 and ${record.column('id')} = $2`
}

function isFound(record: Table<PluginRecord>): string {
  return `${record.column('kind')} = $1 and ${record.column('key')} = $2`
}
