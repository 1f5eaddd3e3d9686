/** What the pages of scopes and resources are given: one kind of page for both. */
import type { Words } from '../../../src/protocol/message.ts'
import type { FormTarget, Notice } from '../../pages/models.ts'
import type { FieldGroup, FieldView, Paged } from '../models.ts'

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
  sectionText: Words
  heading: Words
  lead: Words
  /** One was deleted just now; null for nothing. */
  notice: Notice | null
  newUri: string
  newText: Words
  columns: readonly Words[]
  /** A text is shown as it is. */
  rows: readonly { id: string; href: string; cells: readonly Words[] }[]
  /** The kinds that stand beside each other. */
  tabs: readonly { text: Words; href: string; current: boolean }[]
}

/** One of them, or a form for a new one, whose `deletion` is null. */
export interface RecordPage extends FormTarget {
  section: string
  /** A text is shown as it is. */
  heading: Words
  lead: Words
  /** Of the button that deletes it. */
  deleteText: Words
  /** `''` for a new one. */
  id: string
  /** What was done; null for nothing. */
  notice: Notice | null
  /** What is known of it beside its members; null for nothing. */
  note: Words | null
  /** What the form was filled in from. */
  version: string
  error: Words | null
  /** What a new one may be; none where there is no choice. */
  types: readonly { title: Words; text: Words; href: string; current: boolean }[]
  /** The key of the one that the form is for; `''` for none. */
  type: string
  fields: readonly FieldView[]
  /** What few need; null where there is nothing of that. */
  more: FieldGroup | null
  related: {
    title: Words
    none: Words
    links: readonly { text: string; href: string }[]
  } | null
  /** What becomes of what names it, when it is deleted. */
  endings: readonly Words[]
  deletion: (FormTarget & { error: Words | null; typed: string }) | null
  listUri: string
  listText: Words
}
