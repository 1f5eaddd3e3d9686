/** What the pages of `record-pages.ts` need to know of a kind of things. */
import { message, type Message, type Words } from '../../../src/protocol/message.ts'
import type { FieldView } from '../models.ts'
import type { RecordPage } from './record-models.ts'

/** What stands in the fields, by their names. */
export type Values = Readonly<Record<string, string>>
/** Of `kind` text, unless it says another. */
export type RecordField = Pick<FieldView, 'name' | 'label'> &
  Partial<Pick<FieldView, 'hint' | 'kind' | 'options'>> & {
    /** Few need it: it is shut until somebody opens it, or something stands there. */
    readonly folded?: boolean
  }

/** What a new one may be, where there is a choice: each has a form of its own. */
export interface RecordType {
  /** In the address of its form. */
  readonly key: string
  readonly title: Words
  readonly text: Words
  /** What its form says first. */
  readonly lead: Words
  /** What its form is filled with. A member that has no field there is saved so. */
  readonly values: Values
}

export interface RecordKind<Information extends object> {
  /** Such as `/scope`: its page; the list is at the same with an s. */
  readonly path: `/${string}`
  /** The text of the section that they are in. */
  readonly section: Message
  /** The kinds that stand beside each other there. */
  readonly tabs: readonly { text: Words; path: string }[]
  readonly words: Pick<RecordPage, 'lead' | 'endings'> & {
    list: Words
    listLead: Words
    new: Words
    /** In the singular, for answers to developers. */
    one: string
    /** That there is none of this name. */
    none: Words
    /** Of the button that deletes it. */
    delete: Words
    /** That it was deleted. */
    deleted: Words
    /** That another name was typed to delete it. */
    notItsName: Words
  }
  /** Titles of the list's columns: the identifier's, and one for each of `cellsOf`. */
  readonly columns: readonly Words[]
  /** The member that identifies it: the first field of a new one, and fixed from then on. */
  readonly identifier: RecordField & { name: keyof Information & string }
  /** The first by default. */
  readonly types?: readonly RecordType[]
  /** Of a new one, which is null, of a type where there are any; or of one that is there. */
  fields(one: Information | null, type?: RecordType): Promise<readonly RecordField[]>
  cellsOf(one: Information): readonly Words[]
  /** What it has, as it would be typed. */
  valuesOf(one: Information): Values
  list(options: { after?: string | undefined; limit: number }): Promise<Information[]>
  find(id: string): Promise<Information | null>
  /** Of one that is there, `values` are those that change, with what identifies it. */
  save(values: Values, options: { isNew: boolean }): Promise<void>
  delete(id: string): Promise<boolean>
  /** Whether saving one asks for a sign-in of a moment ago, as deleting one does. */
  readonly asksAgain?: true
  /** What stands there instead of the lead of a new one. */
  leadOf?(one: Information): Words
  /** A sentence of what is known of it beside its members. */
  noteOf?(one: Information): Words
  /** More of it, that is not edited here. */
  related(one: Information): Promise<RecordPage['related']>
}

/** Scopes and resources stand beside each other. */
export const SCOPES_AND_RESOURCES = {
  section: message('Scopes and resources'),
  tabs: [
    { text: message('Scopes'), path: '/scopes' },
    { text: message('Resources'), path: '/resources' },
  ],
} as const

/** Where its pages are, below `/admin`. */
export function pathsOf({ path }: { path: `/${string}` }) {
  return {
    list: `${path}s`,
    create: `${path}s/new`,
    one: path,
    remove: `${path}/delete`,
  } as const
}
