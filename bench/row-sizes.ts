// Owns what a row takes up, as docs/capacity.md tells it and its arithmetic uses it.

import { writeCapacity } from './capacity.ts'
import { keep } from './figures.ts'
import type { Size } from './fill.ts'
import { grouped, table, whole } from './markdown.ts'
import { writeParts } from './parts.ts'

const names: Record<string, string> = {
  users: 'a user',
  clients: 'a client',
  sessions: 'a session',
  consents: 'a consent',
  authorizations: 'an Authorization',
  refresh_tokens: 'a refresh token',
  audit_events: 'an audit event',
}

export function writeSizes(sizes: readonly Size[]): void {
  const found = Object.entries(names).map(([name, title]) => {
    const all = sizes.filter((one) => one.table === name)
    const sum = (some: readonly Size[]) => some.reduce((total, { bytes }) => total + bytes, 0)
    const { rows = 0 } = all[0] ?? {}
    return {
      name,
      title,
      rows,
      each: sum(all) / rows,
      indexes: sum(all.filter((one) => one.name !== name)) / rows,
    }
  })
  const cells = found.map(({ title, rows, each, indexes }) => [
    title,
    grouped(rows),
    whole(each),
    whole(indexes),
  ])
  const text = table(['a row of', 'rows', 'bytes, table and indexes', 'of that the indexes'], cells)
  writeParts([{ page: 'capacity.md', name: 'rows', text }])
  keep({ rows: Object.fromEntries(found.map(({ name, each }) => [name, each])) })
  writeCapacity()
}
