/** What each page of the administration of roles is given. */
import type { Words } from '../../../src/protocol/message.ts'
import type { FormTarget, Notice } from '../../pages/models.ts'
import type { Paged, SearchedList } from '../models.ts'

declare module '../../pages/models.ts' {
  interface Pages {
    'admin-roles': RolesPage
    'admin-role': RolePage
  }
}

/** A directory that keeps a role, as its client is called. */
export interface DirectoryView {
  name: string
  uri: string
}

export interface RolesPage extends SearchedList {
  roles: readonly {
    name: string
    href: string
    /** How many have it, in words. */
    members: Words
    directories: readonly DirectoryView[]
    isChanging: boolean
  }[]
}

/** A form of one field. */
export interface OneField extends FormTarget {
  error: Words | null
  typed: string
}

export interface RolePage extends Paged {
  name: string
  /** What its directory calls it; null for nothing else than its name. */
  displayName: string | null
  /** What was done, or was refused; null for nothing. */
  done: Notice | null
  refused: Words | null
  isChanging: boolean
  directories: readonly DirectoryView[]
  /** How many have it, in words. */
  count: Words
  /** What was searched for; `''` for nothing. */
  search: string
  searchUri: string
  /** Away from a search; null where nothing is searched for. */
  allUri: string | null
  members: readonly {
    id: string
    username: string
    href: string
    /** Name and email address, where they are known. */
    about: string
    disabled: boolean
    /** Null for who takes the role from themselves on their own page alone. */
    remove: FormTarget | null
  }[]
  add: OneField
  /** Each null where it cannot be done here. */
  rename: OneField | null
  deletion: OneField | null
  listUri: string
}
