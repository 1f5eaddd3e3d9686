/** What each page of the administration of users is given. */
import type { Words } from '../../../src/protocol/message.ts'
import type { FormTarget, Notice } from '../../pages/models.ts'
import type { FieldView, SearchedList } from '../models.ts'

declare module '../../pages/models.ts' {
  interface Pages {
    'admin-users': UsersPage
    'admin-user': UserPage
    'admin-user-new': NewUserPage
    'admin-user-link': PasswordLinkPage
  }
}

export interface UsersPage extends SearchedList {
  users: readonly {
    username: string
    href: string
    /** Name and email address, where they are known. */
    about: string
    roles: string
    disabled: boolean
  }[]
}

/** A form about a user, as it was filled in. */
export interface UserForm extends FormTarget {
  groups: readonly { title: Words; fields: readonly FieldView[] }[]
  /** What is wrong; null when nothing is. */
  error: Words | null
}

export interface NewUserPage {
  /** Null for nothing. */
  notice: Notice | null
  form: UserForm
  /** Buttons that do more than to register. */
  ways: readonly { id: string; text: Words }[]
  listUri: string
}

export interface UserPage {
  id: string
  username: string
  /** Their name, or else the user name. */
  title: string
  disabled: boolean
  /** The administrator who looks at it. */
  isSelf: boolean
  /** What was done, or was refused; null for nothing. */
  done: Notice | null
  refused: Words | null
  form: UserForm
  /** What the form was filled in from. */
  version: string
  /** Of the question whether an administrator means to lose the role; `''` where it is not asked. */
  confirm: string
  hasPassword: boolean
  /** What plugins add: templates without a title, each with what it reads. */
  parts: readonly { part: string; model: object }[]
  /** Each null where it cannot be done now; `newId` tells the form of one page from that of another. */
  passwordLink: (FormTarget & { newId: string }) | null
  resetFactors: FormTarget | null
  disable: FormTarget | null
  enable: FormTarget | null
  endSessions: FormTarget | null
  revokeTokens: FormTarget | null
  deletion: FormTarget & { error: Words | null; typed: string }
  sessions: readonly {
    sid: string
    /** The browser and its system, in words. */
    title: Words
    address: string | null
    since: Date
    lastSeen: Date
    /** The sign-in lacks a factor still. */
    pending: boolean
    /** The one in which the administrator looks at it. */
    isThis: boolean
    end: FormTarget
  }[]
  authorizations: readonly {
    id: string
    clientName: string
    /** Null for a client that was deleted. */
    clientUri: string | null
    scopes: string
    since: Date
    /** When its tokens were last refreshed; null where they cannot be. */
    refreshed: Date | null
    /** To a key of the client. */
    bound: boolean
    revoke: FormTarget
  }[]
  /** The next Authorizations; null at the end. */
  nextUri: string | null
  auditUri: string
  listUri: string
}

export interface PasswordLinkPage {
  username: string
  address: string
  expires: Date
  userUri: string
}
