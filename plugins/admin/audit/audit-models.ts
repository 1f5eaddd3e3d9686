/** What the page of the audit log is given; its rows stand on the dashboard too. */

declare module '../../pages/models.ts' {
  interface Pages {
    'admin-audit': AuditPage
  }
}

/** Somebody whom an event names; without `href` there is no page of theirs. */
export interface Party {
  text: string
  href: string | null
}

export interface AuditRow {
  id: string
  time: Date
  type: string
  what: string
  /** The most telling of the details; `''` for none. */
  summary: string
  /** How often, where like events of one second are one. */
  count: number
  who: Party
  about: readonly Party[]
  address: string | null
  requestId: string | null
  requestUri: string | null
  facts: readonly { name: string; value: string }[]
  changes: readonly { member: string; before: string; after: string }[]
}

export interface AuditPage {
  action: string
  /** What was typed, and what is wrong with it, by the field. */
  filter: Readonly<Record<string, string>>
  errors: Readonly<Record<string, string | null>>
  types: readonly { value: string; text: string }[]
  filtered: boolean
  rows: readonly AuditRow[]
  nextUri: string | null
  /** Where a page ends before it is full, because it has looked at as many events as one page may. */
  searchedTo: Date | null
  /** Null on the first page. */
  newestUri: string | null
  allUri: string
  csvUri: string
  jsonLinesUri: string
  /** Null for ever. */
  keptDays: number | null
}
