/** What the pages of scopes and resources are given: one kind of page for both. */
import type { Words } from '../../../src/protocol/message.ts'
import type { FormTarget, Notice } from '../../pages/models.ts'
import type { FieldView, Paged } from '../models.ts'

declare module '../../pages/models.ts' {
  interface Pages {
    'admin-record': RecordPage
    'admin-records': RecordsPage
  }
}

/** Things of a few members, of one kind. */
export interface RecordsPage extends Paged {
  /** The text of the section that they are in. */
  section: string
  heading: string
  lead: string
  newUri: string
  newText: string
  columns: readonly string[]
  rows: readonly { id: string; href: string; cells: readonly string[] }[]
  /** The kinds that stand beside each other. */
  tabs: readonly { text: string; href: string; current: boolean }[]
}

/** One of them, or a form for a new one, whose `deletion` is null. */
export interface RecordPage extends FormTarget {
  section: string
  heading: string
  /** The kind, in the singular. */
  what: string
  lead: string
  /** `''` for a new one. */
  id: string
  /** What was done; null for nothing. */
  notice: Notice | null
  /** What the form was filled in from. */
  version: string
  error: Words | null
  fields: readonly FieldView[]
  related: {
    title: string
    none: string
    links: readonly { text: string; href: string }[]
  } | null
  /** What becomes of what names it, when it is deleted. */
  endings: readonly string[]
  deletion: (FormTarget & { error: Words | null; typed: string }) | null
  listUri: string
  listText: string
}
