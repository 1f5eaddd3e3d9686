/** The form for client metadata: its fields by their names of RFC 7591, and the way from text to members and back. */
import type { ClientInformation } from '../../../src/protocol/client-metadata.ts'
import { redirectUriProblem } from '../../../src/protocol/redirect-uri.ts'
import type { Wire } from '../../../src/protocol/wire.ts'
import { sentence } from '../../pages/words.ts'
import type { FieldView } from '../models.ts'

type Field = Pick<FieldView, 'name' | 'label' | 'hint' | 'kind'>
/** What stands in the fields, by their names. */
export type Values = Readonly<Record<string, string>>
export type Errors = Readonly<Record<string, string>>

export const CLIENT_ID: Field = {
  name: 'client_id', label: 'Client ID', kind: 'text', hint: 'Leave it empty, and one is made. It cannot be changed later.',
} // prettier-ignore

/** The fields by the titles under which they stand: the member, what people call it, how it is typed, and a hint. */
const TABLE: Readonly<Record<string, readonly (readonly [string, string, Field['kind'], string?])[]>> = {
  'The app': [
    ['client_name', 'Name', 'prose', 'People see it when they sign in.'],
    ['redirect_uris', 'Redirect URIs', 'lines', 'One per line, exactly as the app sends them. People come back here after signing in.'],
    ['post_logout_redirect_uris', 'Redirect URIs after sign-out', 'lines', 'One per line.'],
    ['scope', 'Scopes', 'words', 'Separated by spaces: what the app may ask for beyond the profile, and what it gets when it acts for itself.'],
  ],
  Protocol: [
    ['token_endpoint_auth_method', 'Client authentication', 'choice'],
    ['grant_types', 'Grant types', 'words', 'Separated by spaces. Empty: those that follow from the rest.'],
    ['response_types', 'Response types', 'lines', 'One per line. Empty: code, where there is a redirect URI.'],
    ['access_token_format', 'Access tokens', 'choice'],
  ],
  'Shown to people': [
    ['client_uri', 'Home page', 'url'],
    ['logo_uri', 'Logo', 'url'],
    ['policy_uri', 'Privacy policy', 'url'],
    ['tos_uri', 'Terms of service', 'url'],
  ],
} // prettier-ignore

const GROUPS = Object.entries(TABLE).map(([title, rows]) => ({
  title,
  fields: rows.map(([name, label, kind, hint = '']): Field => ({ name, label, kind, hint })),
}))
const FIELDS = GROUPS.flatMap(({ fields }) => fields)
const REDIRECTS = ['redirect_uris', 'post_logout_redirect_uris']
/** Of these, none is nothing; of all others, none means the default. */
const LISTS = new Set(['redirect_uris', 'post_logout_redirect_uris', 'scope'])

export function isField(name: string): boolean {
  return name === CLIENT_ID.name || FIELDS.some((field) => field.name === name)
}

/** What was typed, as it was typed. */
export function typedIn(wire: Wire): Values {
  const names = [CLIENT_ID, ...FIELDS].map(({ name }) => name)
  return Object.fromEntries(names.map((name) => [name, String(wire[name] ?? '')]))
}

/** What a client has, as it would be typed. */
export function valuesOf(client: ClientInformation): Values {
  return Object.fromEntries(
    FIELDS.map(({ name, kind }) => {
      const value = [client[name] ?? []].flat() as string[]
      return [name, value.join(kind === 'lines' ? '\n' : ' ')]
    }),
  )
}

/** The members that the fields say; null for one to be without. */
export function membersOf(values: Values): Record<string, unknown> {
  return Object.fromEntries(FIELDS.map(({ name, kind }) => [name, memberOf(name, kind, values[name] ?? '')]))
}

function memberOf(name: string, kind: Field['kind'], text: string): unknown {
  if (kind === 'lines' || kind === 'words') {
    const items = itemsOf(kind, text)
    return items.length > 0 || LISTS.has(name) ? items : null
  }
  return text.trim() === '' ? null : text.trim()
}

function itemsOf(kind: 'lines' | 'words', text: string): string[] {
  return text
    .split(kind === 'lines' ? /[\r\n]+/ : /\s+/)
    .map((one) => one.trim())
    .filter((one) => one !== '')
}

/** What only the form can tell: the line that is wrong. All else is for the registry to refuse. */
export function wrongLines(values: Values): Errors {
  const errors: Record<string, string> = {}
  for (const name of REDIRECTS) {
    const lines = itemsOf('lines', values[name] ?? '')
    for (const [index, uri] of lines.entries()) {
      const problem = redirectUriProblem(uri)
      if (problem === undefined || problem.insecure || name in errors) continue
      errors[name] = lines.length === 1 ? sentence(problem.reason) : `Line ${index + 1} ${problem.reason}.`
    }
  }
  return errors
}

/** The form as people see it. `methods` are the ways to authenticate that somebody serves. */
export function groupsOf(values: Values, errors: Errors, methods: readonly string[]) {
  const view = (field: Field) => viewOf(field, values, errors, methods)
  return GROUPS.map(({ title, fields }) => ({ title, fields: fields.map(view) }))
}

export function clientIdField(values: Values, errors: Errors): FieldView {
  return viewOf(CLIENT_ID, values, errors)
}

function viewOf(field: Field, values: Values, errors: Errors, methods: readonly string[] = []): FieldView {
  const { name, kind } = field
  const value = values[name] ?? ''
  const options = kind === 'choice' ? optionsOf(name, value, methods) : []
  return { ...field, autocomplete: 'off', value, error: errors[name] ?? null, options }
}

function optionsOf(name: string, value: string, methods: readonly string[]): FieldView['options'] {
  const [unset, known] =
    name === 'token_endpoint_auth_method'
      ? ['Secret, as Basic or in the form', methods]
      : ['As the resource says', ['jwt', 'opaque']]
  const texts: Record<string, string> = { none: 'none: a public client, with PKCE' }
  const names = [...new Set([...known, ...(value === '' ? [] : [value])])]
  return [{ value: '', text: unset }, ...names.map((one) => ({ value: one, text: texts[one] ?? one }))]
}
