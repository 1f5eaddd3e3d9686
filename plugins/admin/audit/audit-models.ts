/** What the page of the audit log is given; its rows stand on the dashboard too. */

import type { Words } from '../../../src/protocol/message.ts'
import type { Shown } from '../shown.ts'

declare module '../../pages/models.ts' {
  interface Pages {
    'admin-audit': AuditPage
    /** A part of pages. */
    'admin-party': Party
  }
}

/** Somebody whom an event names; without `href` there is no page of theirs. */
export interface Party {
  /** A string is their own name, and is shown as it is. */
  text: Words
  href: string | null
}

export interface AuditRow {
  id: string
  time: Date
  type: string
  what: Words
  /** The most telling of the details; `''` for none. A string is as it stands in the event. */
  summary: Words
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

export interface AuditPage extends Shown {
  action: string
  /** What was typed, and what is wrong with it, by the field. */
  filter: Readonly<Record<string, string>>
  errors: Readonly<Record<string, Words | null>>
  types: readonly { value: string; text: Words }[]
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
