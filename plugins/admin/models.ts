/** What pages of several rooms are given, and those that stand in none: the dashboard and the keys. */
import type { Words } from '../../src/protocol/message.ts'
import type { KeyState } from '../../src/services/keys/key-ring.ts'
import type { FormTarget, Notice } from '../pages/models.ts'
import type { AuditRow } from './audit/audit-models.ts'
import type { Behind, Shown } from './shown.ts'

declare module '../pages/models.ts' {
  interface Pages {
    'admin-dashboard': DashboardPage
    /** A part of pages. */
    'admin-behind': Behind
    /** An address or a name with dots, which a narrow screen breaks at those; a part of pages. */
    'admin-breaks': { text: string }
    /** What copies from pages; a part of them. */
    'copy-script': Record<string, never>
    'admin-deliveries': DeliveriesPage
    'admin-field': FieldView
    'admin-fields': FieldGroup
    'admin-keys': KeysPage
    'admin-key-revoke': KeyRevokePage
  }
}

/** A list of which there is a page at a time. */
export interface Paged {
  /** The next page; null at the end. */
  nextUri: string | null
  /** Null on the first page. */
  firstUri: string | null
}

/** One that can be searched, and added to. */
export interface SearchedList extends Paged, Shown {
  /** One was deleted just now; null for nothing. */
  notice: Notice | null
  newUri: string
  searchUri: string
  /** What was searched for; `''` for nothing. */
  search: string
  /** Away from a search; null where nothing is searched for. */
  allUri: string | null
}

/** A member as people edit it, by its name on the wire. */
export interface FieldView {
  name: string
  label: Words
  /** `''` for none. */
  hint: Words
  /** `prose` is in people's own words. */
  kind:
    | 'prose'
    | 'text'
    | 'email'
    | 'password'
    | 'tel'
    | 'url'
    | 'number'
    | 'words'
    | 'lines'
    | 'json'
    | 'choice'
  /** What browsers fill it in with; `off` for nothing. */
  autocomplete: string
  value: string
  error: Words | null
  /** Of a choice; of a text, what may be chosen instead of typed. */
  options: readonly { value: string; text: Words }[]
}

/** Fields under a title. */
export interface FieldGroup {
  title: Words
  /** Null for one whose fields are always in view. */
  folded: { open: boolean } | null
  fields: readonly FieldView[]
}

export interface KeyView {
  kid: string
  /** Where its private part is: `database`, or as KEYS names it. */
  store: string
  state: KeyState
  /** The same, for people. */
  stateText: Words
  createdAt: Date
  signsFrom: Date
  /** Null for one that has no successor. */
  retiresAt: Date | null
  /** Where it can be revoked; null for one that was. */
  revokeUri: string | null
}

export interface KeysPage {
  algorithms: readonly {
    algorithm: string
    /** The newest first. */
    keys: readonly KeyView[]
    /** A key was asked for just now. */
    made: boolean
    /** `newest`: what the form was shown for. */
    form: FormTarget & { newest: string }
    /** The newest does not sign yet. */
    waiting: boolean
  }[]
  /** Seconds. */
  publishFor: number
  /** Null for never. */
  rotateDays: number | null
  jwksUri: string
  /** What keeps keys that should sign from it, a sentence each; in English, as the log has it. */
  troubles: readonly string[]
  /** A key was revoked just now, or what was asked for is not done; null for nothing. */
  notice: Notice | null
}

/** What was given up, the last first. */
export interface DeliveriesPage extends Paged {
  /** Those that are tried by themselves; 501 stands for more. */
  waiting: number
  rows: readonly {
    id: string
    kind: string
    /** Empty for nobody in particular. */
    recipient: string
    enqueuedAt: Date
    givenUpAt: Date
    attempts: number
    /** Null where nobody tried. */
    lastError: string | null
    retry: FormTarget
  }[]
  /** Null where there are not several. */
  retryAll: FormTarget | null
  /** Something was asked to be tried again just now. */
  retried: boolean
}

/** Asks once more. */
export interface KeyRevokePage {
  kid: string
  algorithm: string
  state: Words
  /** What that ends. */
  ends: readonly Words[]
  form: FormTarget
  cancelUri: string
  /** What was asked for and is not done; null for nothing. */
  notice: Notice | null
}

export interface PlotView {
  /** The beginning of each. */
  hours: readonly Date[]
  bands: readonly {
    id: string
    name: Words
    /** By the hour. */
    counts: readonly number[]
    total: number
    /** Of an hour. */
    most: number
    title: Words
    description: Words
    bars: readonly { x: number; y: number; width: number; height: number }[]
  }[]
}

export interface HealthView {
  name: Words
  well: boolean
  text: Words
}

export interface DistributionView {
  servers: readonly HealthView[]
  /** Pages that ask all of them, as their addresses are. */
  asking: readonly string[]
}

export interface DashboardPage extends Shown {
  numbers: readonly { text: Words; value: Words; href: string | null }[]
  plot: PlotView
  health: readonly HealthView[]
  /** Where tokens lie on several servers; null on one. */
  distribution: DistributionView | null
  rows: readonly AuditRow[]
  auditUri: string
  /** None once there is somebody and something. */
  steps: readonly { text: Words; href: string; done: boolean }[]
}
