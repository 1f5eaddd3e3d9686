/** What each page of the administration of clients is given. */
import type { Words } from '../../../src/protocol/message.ts'
import type { FormTarget, Notice } from '../../pages/models.ts'
import type { FieldGroup, Paged, SearchedList } from '../models.ts'
import type { ClientFace } from './client-face.ts'

declare module '../../pages/models.ts' {
  interface Pages {
    'admin-clients': ClientsPage
    'admin-client': ClientPage
    'admin-client-authorizations': ClientAuthorizationsPage
    'admin-client-new': NewClientPage
    'admin-client-secret': ClientSecretPage
  }
}

export interface ClientsPage extends SearchedList {
  clients: readonly (ClientFace & { clientId: string; href: string; grants: string })[]
}

/** A form for client metadata, as it was filled in. */
export interface ClientForm extends FormTarget {
  groups: readonly FieldGroup[]
  /** What is wrong and belongs to no field; null when nothing is. */
  error: Words | null
}

export interface NewClientPage {
  /** Null for nothing. */
  notice: Notice | null
  form: ClientForm
  /** Which of `types` the form was filled in for. */
  type: string
  /** The id of the client where nobody chooses one. */
  newId: string
  types: readonly { title: Words; text: Words; href: string; current: boolean }[]
  listUri: string
}

export interface ClientPage {
  clientId: string
  name: string
  /** What was done; null for nothing. */
  notice: Notice | null
  form: ClientForm
  /** What the form was filled in from. */
  version: string
  /** What is seldom wise of what is registered, each a sentence. */
  cautions: readonly Words[]
  /** Null for a client that has no secret. */
  rotation: (FormTarget & { former: string }) | null
  deletion: FormTarget & { error: Words | null; typed: string }
  settings: AppSettings
  /** Members that the form has no field for. */
  others: readonly { name: string; value: string }[]
  /** Scopes of it that are registered nowhere, separated by spaces. */
  unregistered: string
  scopesUri: string
  listUri: string
  authorizationsUri: string
  auditUri: string
}

/** What a client holds of users. */
export interface ClientAuthorizationsPage extends Paged {
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
    /** To a key of the client. */
    bound: boolean
    revoke: FormTarget
  }[]
  clientUri: string
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
