/** What each page of the administration is given. */
import type { FormTarget } from '../pages/models.ts'

declare module '../pages/models.ts' {
  interface Pages {
    'admin-audit': AuditPage
    'admin-dashboard': DashboardPage
    'admin-keys': KeysPage
    'admin-record': RecordPage
    'admin-records': RecordsPage
    'admin-clients': ClientsPage
    'admin-client': ClientPage
    'admin-client-authorizations': ClientAuthorizationsPage
    'admin-client-new': NewClientPage
    'admin-client-secret': ClientSecretPage
  }
}

export interface ClientsPage {
  clients: readonly { clientId: string; name: string; href: string; grants: string }[]
  newUri: string
  searchUri: string
  /** What was searched for; `''` for nothing. */
  search: string
  /** The next page; null at the end. */
  nextUri: string | null
  /** Null on the first page. */
  firstUri: string | null
  /** Away from a search; null where nothing is searched for. */
  allUri: string | null
}

/** A form for client metadata, as it was filled in. */
export interface ClientForm extends FormTarget {
  groups: readonly { title: string; fields: readonly FieldView[] }[]
  /** What is wrong and belongs to no field; null when nothing is. */
  error: string | null
}

/** A member of client metadata as people edit it; its name is that of RFC 7591. */
export interface FieldView {
  name: string
  label: string
  /** `''` for none. */
  hint: string
  kind: 'text' | 'url' | 'lines' | 'words' | 'choice' | 'number'
  value: string
  error: string | null
  /** Of a choice; of a text, what may be chosen instead of typed. */
  options: readonly { value: string; text: string }[]
}

export interface NewClientPage {
  form: ClientForm
  /** Which of `types` the form was filled in for. */
  type: string
  types: readonly { title: string; text: string; href: string; current: boolean }[]
  listUri: string
}

export interface ClientPage {
  clientId: string
  name: string
  saved: boolean
  /** They have signed in once more, for a change that is not done yet. */
  again: boolean
  form: ClientForm
  /** What the form was filled in from. */
  version: string
  /** Null for a client that has no secret. */
  rotation: FormTarget | null
  deletion: FormTarget & { error: string | null; typed: string }
  settings: AppSettings
  /** Members that the form has no field for. */
  others: readonly { name: string; value: string }[]
  listUri: string
  authorizationsUri: string
  auditUri: string
}

/** What a client holds of users. */
export interface ClientAuthorizationsPage {
  clientId: string
  name: string
  /** One was revoked just now. */
  revoked: boolean
  rows: readonly {
    id: string
    username: string
    userUri: string
    scopes: string
    since: Date
    /** Null for one that cannot be refreshed. */
    refreshed: Date | null
    revoke: FormTarget
  }[]
  clientUri: string
  nextUri: string | null
  /** Null on the first page. */
  firstUri: string | null
}

/** What the app is configured with, to be copied. */
export interface AppSettings {
  env: string
  snippet: string
}

export interface ClientSecretPage {
  clientId: string
  name: string
  secret: string
  settings: AppSettings
  clientUri: string
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

/** Things of a few members, of one kind. */
export interface RecordsPage {
  heading: string
  lead: string
  newUri: string
  newText: string
  columns: readonly string[]
  rows: readonly { id: string; href: string; cells: readonly string[] }[]
  nextUri: string | null
  /** Null on the first page. */
  firstUri: string | null
  /** The kinds that stand beside each other. */
  tabs: readonly { text: string; href: string; current: boolean }[]
}

/** One of them, or a form for a new one, whose `deletion` is null. */
export interface RecordPage extends FormTarget {
  heading: string
  /** The kind, in the singular. */
  what: string
  lead: string
  /** `''` for a new one. */
  id: string
  saved: boolean
  /** What the form was filled in from. */
  version: string
  error: string | null
  fields: readonly FieldView[]
  related: {
    title: string
    none: string
    links: readonly { text: string; href: string }[]
  } | null
  /** What becomes of what names it, when it is deleted. */
  endings: readonly string[]
  deletion: (FormTarget & { error: string | null; typed: string }) | null
  listUri: string
  listText: string
}

export interface KeyView {
  kid: string
  state: 'next' | 'current' | 'retiring'
  createdAt: Date
  signsFrom: Date
  /** Null for one that has no successor. */
  retiresAt: Date | null
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
}

export interface PlotView {
  /** The beginning of each. */
  hours: readonly Date[]
  bands: readonly {
    id: string
    name: string
    /** By the hour. */
    counts: readonly number[]
    total: number
    /** Of an hour, to be read. */
    mostText: string
    title: string
    description: string
    bars: readonly { x: number; y: number; width: number; height: number }[]
  }[]
}

export interface HealthView {
  name: string
  well: boolean
  text: string
}

export interface DashboardPage {
  numbers: readonly { text: string; value: string; href: string | null }[]
  plot: PlotView
  health: readonly HealthView[]
  rows: readonly AuditRow[]
  auditUri: string
  /** None once there is somebody and something. */
  steps: readonly { text: string; href: string; done: boolean }[]
}
