/**
 * Brings the records of a dump into the registries, each by itself: who is already here is left alone, who is refused
 * is named, and the others go on. A dry run finds the same and stores nothing.
 */
import { OAuthError } from '../protocol/errors.ts'
import { usernameKey } from '../protocol/username.ts'
import { applyClient } from './clients.ts'
import type { Applied, ImportContext, ImportOptions } from './context.ts'
import { readResponseType } from './django-client.ts'
import type { DumpRecord } from './dump.ts'
import { fieldError } from './fields.ts'
import { applyUser } from './users.ts'

export interface Outcome extends Applied {
  /** The record's place in the file, from 1. */
  record: number
  model: string
  /** User name or client_id, where it can be read. */
  name?: string
}

export interface Imported {
  outcomes: Outcome[]
  /** How many records there are of each model that nothing is made of. */
  ignored: Record<string, number>
}

interface Model {
  /** The field that holds its name, and the form in which names are compared. */
  field: string
  key(name: string): string
  apply(record: DumpRecord, context: ImportContext): Promise<Applied>
}

/** In the order in which they are needed. */
const MODELS: ReadonlyMap<string, Model> = new Map([
  [
    'oidc_provider.responsetype',
    {
      field: 'value',
      key: (value) => value,
      async apply(record, { responseTypes }) {
        responseTypes.set(...readResponseType(record))
        return { action: 'keep', notes: [] }
      },
    },
  ],
  ['oidc_provider.client', { field: 'client_id', key: (clientId) => clientId, apply: applyClient }],
  [
    'auth.user',
    { field: 'username', key: (username) => usernameKey(username) ?? username, apply: applyUser },
  ],
] as [string, Model][])

export async function applyDump(
  records: readonly DumpRecord[],
  targets: Pick<ImportContext, 'clients' | 'users'>,
  options: ImportOptions,
): Promise<Imported> {
  const { clients, users } = targets
  const context: ImportContext = { clients, users, options, responseTypes: new Map() }
  const outcomes: Outcome[] = []
  for (const [model, { field, key, apply }] of MODELS) {
    const taken = new Map<string, number>()
    for (const record of records.filter((one) => one.model === model)) {
      const name = record.fields[field]
      const applied = await refusable(async () => {
        // Django tells Bob from bob; the second must not pass for one who was here before.
        const first = typeof name === 'string' ? taken.get(key(name)) : undefined
        if (first !== undefined) throw fieldError(field, `is that of record ${first}`)
        return apply(record, context)
      })
      if (typeof name === 'string' && applied.action !== 'refuse') taken.set(key(name), record.at)
      if (model === 'oidc_provider.responsetype' && applied.action !== 'refuse') continue
      outcomes.push({ record: record.at, model, ...(typeof name === 'string' ? { name } : {}), ...applied })
    }
  }
  return {
    outcomes: [...outcomes, ...malformed(records)].toSorted((a, b) => a.record - b.record),
    ignored: others(records),
  }
}

/** What the record itself is at fault for; everything else ends the import. */
async function refusable(work: () => Promise<Applied>): Promise<Applied> {
  try {
    return await work()
  } catch (error) {
    if (!(error instanceof OAuthError) || error.status >= 500) throw error
    return { action: 'refuse', notes: [error.message] }
  }
}

function malformed(records: readonly DumpRecord[]): Outcome[] {
  return records
    .filter(({ model }) => model === '')
    .map(({ at }) => ({ record: at, model: '', action: 'refuse', notes: ['model or fields is missing'] }))
}

function others(records: readonly DumpRecord[]): Record<string, number> {
  const ignored = new Map<string, number>()
  for (const { model } of records)
    if (model !== '' && !MODELS.has(model)) ignored.set(model, (ignored.get(model) ?? 0) + 1)
  return Object.fromEntries(ignored)
}
