/** What each page of the account is given. */
import type { KeptElsewhere } from '../../src/doors/password-source.ts'
import type { Words } from '../../src/protocol/message.ts'
import type { FormTarget, Notice } from '../pages/models.ts'
import type { ProfileField } from '../pages/profile-fields.ts'
import type { DescribedScope } from '../pages/scope-words.ts'
import type { NextStep } from './sections.ts'

declare module '../pages/models.ts' {
  interface Pages {
    account: OverviewPage
    'account-profile': ProfilePage
    'account-email': EmailPage
    'account-security': SecurityPage
    'account-security-password': SecurityPassword
    'account-password': PasswordPage
    'account-sessions': SessionsPage
    'account-apps': AppsPage
    'account-activity': ActivityPage
  }
}

export interface OverviewPage {
  username: string
  name: string | null
  /** Templates without a title, each with what it reads. */
  notices: readonly { part: string; model: object }[]
  parts: readonly { title: Words; href: string; text: Words }[]
}

export interface ProfilePage extends FormTarget {
  username: string
  email: string | null
  emailUri: string
  /** What was done, or is not done yet; null for nothing. */
  notice: Notice | null
  /** What the form was filled in from. */
  version: string
  groups: readonly { title: Words; fields: readonly ProfileField[] }[]
  /** What is kept elsewhere, and looked at here; null for nothing. */
  kept: (KeptElsewhere & { fields: readonly ProfileField[] }) | null
  /** What is wrong and belongs to no field; null when nothing is. */
  error: Words | null
}

export interface EmailPage extends FormTarget {
  profileUri: string
  /** `''` for none. */
  email: string
  verified: boolean
  typed: string
  /** Where it is kept, where that is elsewhere; null where it is changed here. */
  kept: KeptElsewhere | null
  /** What was done, or is not done yet; null for nothing. */
  notice: Notice | null
  error: Words | null
  /** Whether a new one is confirmed by mail. */
  mailed: boolean
}

export interface SecurityPassword {
  hasPassword: boolean
  changeUri: string
  /** Where it is kept, where that is elsewhere; null where it is none of theirs. */
  kept: KeptElsewhere | null
  /** Null where they could not sign in without it. */
  remove: FormTarget | null
  /** What was done, or was not; null for nothing. */
  done: { kind: 'success' | 'alert'; text: Words } | null
}

export interface SecurityPage {
  /** Templates without a title, each with what it reads. */
  parts: readonly { part: string; model: object }[]
  /** Null for nothing. */
  nextStep: NextStep | null
}

export interface PasswordPage extends FormTarget {
  securityUri: string
  username: string
  hasPassword: boolean
  /** As in `SecurityPassword`. */
  kept: KeptElsewhere | null
  minLength: number
  errors: { current: Words | null; new: Words | null }
  /** Why another try is not looked at yet, and when it is. */
  wait: Words | null
  saved: boolean
}

export interface SessionsPage {
  sessions: readonly {
    /** The browser and its system, in words. */
    title: Words
    address: string | null
    since: Date
    lastSeen: Date
    /** The sign-in lacks a factor still. */
    pending: boolean
    /** Null for the browser that looks at the page. */
    end: (FormTarget & { sid: string }) | null
  }[]
  /** Null where there are no others. */
  endOthers: FormTarget | null
  /** What was done; null for nothing. */
  done: Words | null
}

export interface AppsPage {
  apps: readonly {
    clientId: string
    name: string
    host: string | null
    claim: string | null
    /** Where people go into it; null where it names nothing. */
    entrance: string | null
    /** Nobody here has registered it. */
    byItself: boolean
    scopes: readonly DescribedScope[]
    /** What was allowed beside them. */
    lines: readonly Words[]
    since: Date
    lastUsed: Date
    /** It keeps its access when its user signs out. */
    offline: boolean
    revoke: FormTarget
  }[]
  /** Null where there is none. */
  revokeAll: FormTarget | null
  /** Minutes for which an API that verifies tokens by itself may still accept them. */
  lifetime: number
  done: Words | null
  /** Null at the end. */
  nextUri: string | null
  /** Null on the first page. */
  firstUri: string | null
}

export interface ActivityPage {
  events: readonly {
    /** With the app that it is about, and how often it was so. */
    text: Words
    /** Who else did it; null for the user. */
    by: Words | null
    address: string | null
    time: Date
  }[]
  passwordUri: string
  sessionsUri: string
  /** Null at the end. */
  nextUri: string | null
  /** Null on the first page. */
  firstUri: string | null
}
