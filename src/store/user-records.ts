/** Records of users by plugins: each is written, replaced and deleted by one guarded statement, under the user's id. */
import { User } from '../entities/user.ts'
import { UserRecord } from '../entities/user-record.ts'
import { statement, type Table } from './statement.ts'

export type UserRecordRow = Pick<UserRecord, (typeof READ)[number]>

/** With whose it is. */
export type PlacedRecordRow = Pick<UserRecord, 'kind' | 'id' | 'value'> & { userId: string }

/** A password or another method, which is no record; or a record, by its kind. */
export type WayInRow =
  | { way: string; id: null; value: null }
  | { way: string; id: string; value: UserRecord['value'] }

const READ = ['id', 'value', 'revision', 'createdAt', 'updatedAt'] as const

/** Rows that are looked through at a time. */
const BATCH = 200

/** In each but `owner`, $1 is the user's id and $2 the kind. */
export const statements = {
  list: statement<UserRecordRow>('user-records-list', (table) => {
    const record = table(UserRecord)
    return `select ${record.columns(...READ)} from ${record.name}
      where ${record.column('user')} = $1 and ${record.column('kind')} = $2
      order by ${record.column('createdAt')}, ${record.column('id')}`
  }),
  /** Of the users $1, those of the kind $2. */
  ofUsers: statement<Pick<UserRecord, 'value' | 'createdAt'> & { userId: string }>(
    'user-records-of-users',
    (table) => {
      const record = table(UserRecord)
      return `select ${record.column('user')} as "userId", ${record.columns('value', 'createdAt')} from ${record.name}
      where ${record.column('user')} = any($1::uuid[]) and ${record.column('kind')} = $2`
    },
  ),
  get: statement<UserRecordRow>('user-record-get', (table) => {
    const record = table(UserRecord)
    return `select ${record.columns(...READ)} from ${record.name} where ${isThis(record)}`
  }),
  /** Where the user has fewer than $6 of the kind; null for any number. */
  put: statement<{ stored: true }>('user-record-put', (table) => {
    const [record, user] = [table(UserRecord), table(User)]
    const columns = (['user', 'kind', 'id', 'value', 'uniqueId'] as const).map((one) => record.column(one))
    const had = `select count(*) from ${record.name}
      where ${record.column('user')} = $1::uuid and ${record.column('kind')} = $2`
    // Locked, as who deletes the user begins with their row.
    return `insert into ${record.name} (${columns.join(', ')})
      select $1::uuid, $2, $3, $4::jsonb, $5 from ${user.name}
      where ${user.column('id')} = $1 and ($6::int is null or (${had}) < $6::int) for key share
      on conflict do nothing returning true as "stored"`
  }),
  replace: statement<{ replaced: true }>('user-record-replace', (table) => {
    const record = table(UserRecord)
    const revision = record.column('revision')
    return `update ${record.name} set ${record.column('value')} = $4::jsonb, ${revision} = ${revision} + 1,
        ${record.column('updatedAt')} = now()
      where ${isThis(record)} and ${revision} = $5 returning true as "replaced"`
  }),
  /** Another way to write the same ($4) in the place of what was read ($5). */
  reseal: statement('user-record-reseal', (table) => {
    const record = table(UserRecord)
    const value = record.column('value')
    return `update ${record.name} set ${value} = $4::jsonb where ${isThis(record)} and ${value} = $5::jsonb`
  }),
  delete: statement<{ deleted: true }>('user-record-delete', (table) => {
    const record = table(UserRecord)
    return `delete from ${record.name} where ${isThis(record)} returning true as "deleted"`
  }),
  kinds: statement<Pick<UserRecord, 'kind'>>('user-record-kinds', (table) => {
    const record = table(UserRecord)
    return `select distinct ${record.columns('kind')} from ${record.name} where ${record.column('user')} = $1`
  }),
  /** Every record of the kinds $2. */
  deleteKinds: statement<Pick<UserRecord, 'kind'>>('user-records-delete-kinds', (table) => {
    const record = table(UserRecord)
    return `delete from ${record.name}
      where ${record.column('user')} = $1 and ${record.column('kind')} = any($2::text[]) returning ${record.columns('kind')}`
  }),
  /** How the user $1 may sign in: by a password where $2 says that one counts, and by each record of the kinds $3. */
  waysIn: statement<WayInRow>('user-ways-in', (table) => {
    const [record, user] = [table(UserRecord), table(User)]
    return `select 'password' as "way", null as "id", null::jsonb as "value" from ${user.name}
      where ${user.column('id')} = $1 and $2 and ${user.column('passwordHash')} is not null
      union all select ${record.column('kind')}, ${record.columns('id', 'value')} from ${record.name}
      where ${record.column('user')} = $1 and ${record.column('kind')} = any($3::text[])`
  }),
  /** Until the end of the transaction nobody else takes a way in from the user $1, or gives them one of which they have so many at most. */
  lockUser: statement('user-lock-records', (table) => {
    const user = table(User)
    return `select from ${user.name} where ${user.column('id')} = $1 for no key update`
  }),
  /** By `kind id`. */
  owner: statement<{ userId: string }>('user-record-owner', (table) => {
    const record = table(UserRecord)
    return `select ${record.column('user')} as "userId" from ${record.name} where ${record.column('uniqueId')} = $1`
  }),
  /** Of all users, behind the record $3 of the kind $2 of the user $1. */
  next: statement<PlacedRecordRow>('user-records-next', (table) => {
    const record = table(UserRecord)
    const place = (['user', 'kind', 'id'] as const).map((one) => record.column(one)).join(', ')
    return `select ${record.column('user')} as "userId", ${record.columns('kind', 'id', 'value')} from ${record.name}
      where (${place}) > ($1::uuid, $2, $3) order by ${place} limit ${BATCH}`
  }),
  /** Of all kinds. */
  all: statement<UserRecordRow & { kind: string }>('user-records-of-user', (table) => {
    const record = table(UserRecord)
    return `select ${record.columns('kind', ...READ)} from ${record.name}
      where ${record.column('user')} = $1 order by ${record.column('kind')}, ${record.column('createdAt')}`
  }),
}

function isThis(record: Table<UserRecord>): string {
  return `${record.column('user')} = $1 and ${record.column('kind')} = $2 and ${record.column('id')} = $3`
}
