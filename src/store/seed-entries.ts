/** What SEED_FILE last said of each thing: read and written many at a time. */
import { SeedEntry, SINCE } from '../entities/seed-entry.ts'
import { insertGiven, updateGiven } from './given-rows.ts'
import { statement } from './statement.ts'

export type SeedEntryRow = Pick<SeedEntry, 'key' | 'said'>

const TYPES = { kind: 'text', key: 'text', said: 'jsonb' } as const

export const statements = {
  /** Of the kind $1, those with the keys $2. */
  find: statement<SeedEntryRow>('seed-entries-find', (table) => {
    const entry = table(SeedEntry)
    return `select ${entry.columns('key', 'said')} from ${entry.name}
      where ${entry.column('kind')} = $1 and ${entry.column('key')} = any($2)`
  }),
  /** The same, for a change; each process in the same order. */
  lock: statement<SeedEntryRow>('seed-entries-lock', (table) => {
    const entry = table(SeedEntry)
    return `select ${entry.columns('key', 'said')} from ${entry.name}
      where ${entry.column('kind')} = $1 and ${entry.column('key')} = any($2) order by ${entry.column('key')} for update`
  }),
  /** When we began to remember, where the database was in use before. */
  since: statement<Pick<SeedEntry, 'saidAt'>>('seed-entries-since', (table) => {
    const entry = table(SeedEntry)
    return `select ${entry.columns('saidAt')} from ${entry.name} where ${entry.column('kind')} = '${SINCE}'`
  }),
  /** Of two processes that insert the same, the second is refused. */
  insert: statement('seed-entries-insert', (table) => insertGiven(table(SeedEntry), TYPES)),
  update: statement('seed-entries-update', (table) => {
    const entry = table(SeedEntry)
    return updateGiven(entry, TYPES, ['kind', 'key'], `, ${entry.column('saidAt')} = now()`)
  }),
}
