/**
 * The claims that people change themselves, by their names of OpenID Connect Core §5.1: the fields, what may stand in
 * them, and the way from text to claims and back. The user name, the roles and `sub` are not among them, nor what says
 * that something was verified; the email address has a page of its own.
 */
import { type Message, message, type Words } from '../../src/protocol/message.ts'
import { isLanguage, isZone, languageChoices, zoneChoices, type Choice } from './locale-choices.ts'

/** A claim as people edit it; its name is that of OpenID Connect Core §5.1. */
export interface ProfileField {
  name: string
  label: Words
  /** `''` for none. */
  hint: Words
  type: 'text' | 'url' | 'tel' | 'lines' | 'choice'
  autocomplete: string
  value: string
  error: Words | null
  /** Of a choice; of a text, what may be chosen instead of typed. */
  options: readonly Choice[]
}

type Field = Pick<ProfileField, 'name' | 'label' | 'hint' | 'type' | 'autocomplete'> & {
  /** Why this cannot be it, as a sentence. */
  problem?: (text: string) => Message | undefined
}
/** What stands in the fields, by their names. */
export type Values = Readonly<Record<string, string>>
export type Errors = Readonly<Record<string, Words>>

/** Whose form it is. */
export interface Asked {
  /** The languages of the server. */
  readonly languages: readonly string[]
  /** What choosing none of them means. */
  readonly asBrowser: Words
}

const GROUPS: readonly { title: Message; fields: readonly Field[] }[] = [
  {
    title: message('You'),
    fields: [
      { name: 'name', label: message('Full name'), hint: message('As it is shown.'), type: 'text', autocomplete: 'name' },
      { name: 'given_name', label: message('Given name'), hint: '', type: 'text', autocomplete: 'given-name' },
      { name: 'middle_name', label: message('Middle name'), hint: '', type: 'text', autocomplete: 'additional-name' },
      { name: 'family_name', label: message('Family name'), hint: '', type: 'text', autocomplete: 'family-name' },
      { name: 'nickname', label: message('Nickname'), hint: '', type: 'text', autocomplete: 'nickname' },
      { name: 'gender', label: message('Gender'), hint: '', type: 'text', autocomplete: 'sex' },
      { name: 'birthdate', label: message('Date of birth'), hint: message('Such as 1990-12-31, or the year alone.'), type: 'text', autocomplete: 'bday', problem: birthdateProblem },
      { name: 'picture', label: message('Picture'), hint: message('The web address of an image.'), type: 'url', autocomplete: 'photo', problem: webProblem },
      { name: 'profile', label: message('Profile page'), hint: message('A web address.'), type: 'url', autocomplete: 'off', problem: webProblem },
      { name: 'website', label: message('Website'), hint: '', type: 'url', autocomplete: 'url', problem: webProblem },
    ],
  },
  {
    title: message('Language and time'),
    fields: [
      { name: 'locale', label: message('Language'), hint: message('For the pages and mails of this service.'), type: 'choice', autocomplete: 'language', problem: localeProblem },
      { name: 'zoneinfo', label: message('Time zone'), hint: message('Such as Europe/Berlin. Without one, times are those of the device.'), type: 'text', autocomplete: 'off', problem: zoneProblem },
    ],
  },
  {
    title: message('Phone and post'),
    fields: [
      { name: 'phone_number', label: message('Phone number'), hint: message('With the country, such as +1 555 0100.'), type: 'tel', autocomplete: 'tel', problem: phoneProblem },
      { name: 'street_address', label: message('Street and number'), hint: '', type: 'lines', autocomplete: 'street-address' },
      { name: 'locality', label: message('City'), hint: '', type: 'text', autocomplete: 'address-level2' },
      { name: 'region', label: message('State or region'), hint: '', type: 'text', autocomplete: 'address-level1' },
      { name: 'postal_code', label: message('Postal code'), hint: '', type: 'text', autocomplete: 'postal-code' },
      { name: 'country', label: message('Country'), hint: '', type: 'text', autocomplete: 'country-name' },
    ],
  },
] // prettier-ignore

const FIELDS = GROUPS.flatMap(({ fields }) => fields)
/** Members of the claim `address` (§5.1.1). */
const ADDRESS = ['street_address', 'locality', 'region', 'postal_code', 'country']

/** What was typed, with the ends of lines as they are stored (§5.1.1 allows both). */
export function typedIn(wire: Readonly<Record<string, unknown>>): Values {
  return Object.fromEntries(FIELDS.map(({ name }) => [name, tidy(wire[name])]))
}

/** What is known of a user, as it would be typed. */
export function valuesOf(claims: Readonly<Record<string, unknown>>): Values {
  const address = (claims['address'] ?? {}) as Readonly<Record<string, unknown>>
  return Object.fromEntries(
    FIELDS.map(({ name }) => [name, tidy(ADDRESS.includes(name) ? address[name] : claims[name])]),
  )
}

function tidy(value: unknown): string {
  return typeof value === 'string' ? value.replaceAll('\r\n', '\n').trim() : ''
}

/** What is wrong with what was changed; what others entered in another form may stay. */
export function problemsOf(values: Values, shown: Values): Errors {
  const wrong = FIELDS.flatMap(({ name, type, problem }) => {
    const text = values[name] ?? ''
    const reason =
      text === '' || text === shown[name] ? undefined : (problem?.(text) ?? lineProblem(text, type))
    return reason === undefined ? [] : [[name, reason] as const]
  })
  return Object.fromEntries(wrong)
}

/** Standard claims that others say of somebody, as they would be kept had they been typed here; what could not be typed is left out. */
export function asTyped(claims: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const values = valuesOf(claims)
  const wrong = problemsOf(values, {})
  const typed = Object.entries(claims).map(([name, value]) => [name, values[name] ?? value] as const)
  return Object.fromEntries(typed.filter(([name, value]) => value !== '' && wrong[name] === undefined))
}

/** The claims that are different from what was shown; null for one to be without. */
export function changesOf(values: Values, shown: Values): Record<string, unknown> {
  const changed = FIELDS.map(({ name }) => name).filter((name) => values[name] !== shown[name])
  const claims: Record<string, unknown> = {}
  for (const name of changed) if (!ADDRESS.includes(name)) claims[name] = values[name] || null
  // What was verified is not this any more.
  if ('phone_number' in claims)
    claims['phone_number_verified'] = claims['phone_number'] === null ? null : false
  // Whole, so that no `formatted` goes on saying what it was before.
  if (changed.some((name) => ADDRESS.includes(name))) claims['address'] = addressOf(values)
  return claims
}

function addressOf(values: Values): Record<string, string> | null {
  const members = ADDRESS.flatMap((name) => (values[name] ? [[name, values[name]] as const] : []))
  return members.length === 0 ? null : Object.fromEntries(members)
}

/** The field where a refusal of the registry belongs, which begins with a claim's name; undefined for none. */
export function fieldOf(claim: string): string | undefined {
  return claim === 'address' ? ADDRESS[0] : FIELDS.find(({ name }) => name === claim)?.name
}

/** The form as people see it. */
export function groupsOf(values: Values, errors: Errors, { languages, asBrowser }: Asked) {
  const optionsOf = (name: string): readonly Choice[] => {
    if (name === 'locale') return languageChoices(languages, asBrowser, values[name] ?? '')
    return name === 'zoneinfo' ? zoneChoices() : []
  }
  const view = ({ name, label, hint, type, autocomplete }: Field): ProfileField => ({
    name,
    label,
    hint,
    type,
    autocomplete,
    value: values[name] ?? '',
    error: errors[name] ?? null,
    options: optionsOf(name),
  })
  return GROUPS.map(({ title, fields }) => ({ title, fields: fields.map(view) }))
}

function webProblem(text: string): Message | undefined {
  const url = URL.parse(text)
  if (url === null || !/^https?:$/.test(url.protocol))
    return message('This must be a web address that begins with https:// or http://.')
  return url.username + url.password === ''
    ? undefined
    : message('This must be a web address without a user name before its host.')
}

/** What would break the line in which an app shows it, or turn that around. */
function lineProblem(text: string, type: Field['type']): Message | undefined {
  const line = type === 'lines' ? text.replaceAll('\n', ' ') : text
  return /[\p{Cc}\p{Zl}\p{Zp}\u202A-\u202E\u2066-\u2069]/u.test(line)
    ? message('This must not hold characters that break a line, or turn it around.')
    : undefined
}

/** §5.1: `YYYY-MM-DD`, the year 0000 for none, or the year alone. */
function birthdateProblem(text: string): Message | undefined {
  const [, year, month, day] = /^(\d{4})(?:-(\d\d)-(\d\d))?$/.exec(text) ?? []
  const wrong = message('This must be a date such as 1990-12-31, or a year.')
  if (year === undefined) return wrong
  if (month === undefined) return undefined
  const date = new Date(Date.UTC(year === '0000' ? 2000 : Number(year), Number(month) - 1, Number(day)))
  return date.getUTCMonth() + 1 === Number(month) && date.getUTCDate() === Number(day) ? undefined : wrong
}

function localeProblem(text: string): Message | undefined {
  return isLanguage(text) ? undefined : message('This must be a language tag, such as en-GB.')
}

function zoneProblem(text: string): Message | undefined {
  return isZone(text) ? undefined : message('This must be a time zone, such as Europe/Berlin.')
}

function phoneProblem(text: string): Message | undefined {
  return /^\+?[\d ().\-/]{3,32}(?:;ext=\d{1,15})?$/.test(text)
    ? undefined
    : message('This must be a phone number, such as +1 555 0100.')
}
