/** The form for client metadata by its names of RFC 7591: the way from text to members and back, and what is wrong with it. */
import { type Words, message, sentenceOf } from '../../../src/protocol/message.ts'
import type { ClientInformation } from '../../../src/protocol/client-metadata.ts'
import { redirectUriProblem } from '../../../src/protocol/redirect-uri.ts'
import { parseTypedJson } from '../../../src/protocol/typed-pairs.ts'
import type { Wire } from '../../../src/protocol/wire.ts'
import type { FieldView } from '../models.ts'
import { BY_METHOD, CHOICES, CLIENT_ID, GROUPS, type Field } from './client-field-table.ts'

/** What stands in the fields, by their names. */
export type Values = Readonly<Record<string, string>>
export type Errors = Readonly<Record<string, Words>>

const FIELDS = GROUPS.flatMap(({ fields }) => fields)
const REDIRECTS = ['redirect_uris', 'post_logout_redirect_uris']
/** Of these, none is nothing; of all others, none means the default. */
const LISTS = new Set(['redirect_uris', 'post_logout_redirect_uris', 'scope'])
const BOOLEANS = new Set([
  'require_consent', 'show_logo', 'dpop_bound_access_tokens', 'tls_client_certificate_bound_access_tokens', 'backchannel_logout_session_required',
  'require_pushed_authorization_requests',
]) // prettier-ignore
const WHOLE_NUMBER = /^\d{1,9}$/

/** What somebody serves of each choice. */
export type Served = Readonly<Record<string, readonly string[]>>

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
      if (kind === 'json') return [name, textOf(client[name])]
      const value = [client[name] ?? []].flat() as (string | number | boolean)[]
      return [name, value.join(kind === 'lines' ? '\n' : ' ')]
    }),
  )
}

function textOf(value: unknown): string {
  return value === undefined ? '' : JSON.stringify(value, null, 2)
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
  const one = text.trim()
  if (one === '') return null
  if (kind === 'json') return parseTypedJson(one).typed
  if (kind === 'number' && WHOLE_NUMBER.test(one)) return Number(one)
  return BOOLEANS.has(name) && /^(?:true|false)$/.test(one) ? one === 'true' : one
}

function itemsOf(kind: 'lines' | 'words', text: string): string[] {
  return text
    .split(kind === 'lines' ? /[\r\n]+/ : /\s+/)
    .map((one) => one.trim())
    .filter((one) => one !== '')
}

/** What only the form can tell: the line that is wrong, and what is no number. All else is for the registry to refuse. */
export function problemsOf(values: Values): Errors {
  const errors: Record<string, Words> = {}
  for (const { name } of FIELDS.filter(({ kind }) => kind === 'number')) {
    const text = values[name]?.trim() ?? ''
    if (text !== '' && !WHOLE_NUMBER.test(text))
      errors[name] = message('This must be a whole number, of nine digits at most.')
  }
  for (const { name } of FIELDS.filter(({ kind }) => kind === 'json')) {
    const text = values[name]?.trim() ?? ''
    if (text === '') continue
    const { typed, twice } = parseTypedJson(text)
    if (typed === undefined) errors[name] = message('This must be JSON.')
    else if (twice !== undefined)
      errors[name] = message('This has {name} twice in one object: leave one of them.', { name: twice })
  }
  for (const name of REDIRECTS) {
    const lines = itemsOf('lines', values[name] ?? '')
    for (const [index, uri] of lines.entries()) {
      const problem = redirectUriProblem(uri)
      if (problem === undefined || problem.insecure || name in errors) continue
      errors[name] =
        lines.length === 1
          ? sentenceOf(problem.reason)
          : message('Line {number}: {problem}', { number: index + 1, problem: sentenceOf(problem.reason) })
    }
  }
  return errors
}

/** The form as people see it: without choices where there is nothing to choose, and shut where all is as `usual`. */
export function groupsOf(values: Values, errors: Errors, served: Served, usual: Values) {
  const view = (field: Field) => viewOf(field, values, errors, served)
  const isTyped = (name: string): boolean => (values[name] ?? '') !== ''
  const methods = served['token_endpoint_auth_method'] ?? []
  const isServed = ({ name, kind }: Field): boolean =>
    kind === 'choice' ? (served[name] ?? []).length > 0 : methods.includes(BY_METHOD.get(name) ?? methods[0]!)
  return GROUPS.map(({ title, folded, fields }) => {
    const offered = fields.filter((field) => isTyped(field.name) || isServed(field) || field.name in errors)
    const open = offered.some(({ name }) => (values[name] ?? '') !== (usual[name] ?? '') || name in errors)
    return { title, folded: folded ? { open } : null, fields: offered.map(view) }
  }).filter(({ fields }) => fields.length > 0)
}

export function clientIdField(values: Values, errors: Errors): FieldView {
  return viewOf(CLIENT_ID, values, errors)
}

function viewOf(field: Field, values: Values, errors: Errors, served: Served = {}): FieldView {
  const { name, kind } = field
  const value = values[name] ?? ''
  const options = kind === 'choice' ? optionsOf(name, value, served) : []
  return { ...field, autocomplete: 'off', value, error: errors[name] ?? null, options }
}

/** What is chosen is offered too, whoever serves it. */
function optionsOf(name: string, value: string, served: Served): FieldView['options'] {
  const { unset, texts = {} } = CHOICES[name]!
  const names = new Set([...(served[name] ?? []), value].filter((one) => one !== ''))
  return [
    { value: '', text: unset },
    ...Array.from(names, (one) => ({ value: one, text: Object.hasOwn(texts, one) ? texts[one]! : one })),
  ]
}
