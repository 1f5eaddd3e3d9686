/**
 * The forms for users: their fields, and the way from text to members and back. The claims that people change themselves
 * are described in `pages/profile-fields.ts`; here is what only an administrator says of somebody.
 */
import { isMailAddress, NO_MAIL_ADDRESS } from '../../../src/protocol/mail-address.ts'
import { message, type Words, withValues } from '../../../src/protocol/message.ts'
import type { Wire } from '../../../src/protocol/wire.ts'
import type { User } from '../../../src/services/users/user.ts'
import * as profile from '../../pages/profile-fields.ts'
import type { FieldView } from '../models.ts'
import type { UserForm } from './user-models.ts'

type Field = Omit<FieldView, 'value' | 'error' | 'options'>
/** What stands in the fields, by their names. */
export type Values = Readonly<Record<string, string>>
export type Errors = Readonly<Record<string, Words>>
type Groups = UserForm['groups']

const field = (name: string, label: Words, hint: Words = '', kind: Field['kind'] = 'text'): Field => ({
  name, label, hint, kind, autocomplete: kind === 'password' ? 'new-password' : 'off',
}) // prettier-ignore

const NAME = field('name', message('Full name'), message('As it is shown.'))
const EMAIL = field('email', message('Email address'), '', 'email')
const VERIFIED = field('email_verified', message('The address is'), '', 'choice')
const ROLES = field(
  'roles',
  message('Roles'),
  message('Separated by spaces, without commas. Who has admin may come here.'),
)
const USERNAME = field('username', message('User name'), message('They sign in by it.'))
const OWN_USERNAME = {
  ...USERNAME,
  hint: message('They sign in by it, and no longer by the former one once you change it.'),
}
const PASSWORD = field(
  'password',
  message('Password'),
  message('Leave it empty, and a link is made by which they set their own. At least {minLength} characters.'),
  'password',
)

const NEW = [USERNAME, NAME, EMAIL, ROLES, PASSWORD]
const OWN = [OWN_USERNAME, EMAIL, VERIFIED, ROLES]
const CHOICES = [
  { value: 'no', text: message('not confirmed') },
  { value: 'yes', text: message('confirmed') },
]

/** What was typed into the form for a new user; the password goes into no form again. */
export function typedForNew(wire: Wire): Values {
  return Object.fromEntries(NEW.map(({ name }) => [name, String(wire[name] ?? '')]))
}

/** For `users.create`. */
export function membersOfNew(values: Values): Record<string, unknown> {
  const given = NEW.flatMap(({ name }) => {
    const text = name === PASSWORD.name ? values[name] : values[name]?.trim()
    return text ? [[name, name === ROLES.name ? rolesIn(text) : text] as const] : []
  })
  return { username: '', ...Object.fromEntries(given) }
}

/** `minLength` are the characters that a password has at least. */
export function groupsOfNew(values: Values, errors: Errors, minLength: number): Groups {
  const least = { ...PASSWORD, hint: withValues(PASSWORD.hint, { minLength }) }
  const fields = NEW.map((one) => (one === PASSWORD ? least : one))
  const empty = { ...values, password: '' }
  return [{ title: message('The user'), fields: fields.map((one) => view(one, empty, errors)) }]
}

export function typedIn(wire: Wire): Values {
  const own = OWN.map(({ name }) => [name, String(wire[name] ?? '').trim()] as const)
  return { ...profile.typedIn(wire), ...Object.fromEntries(own) }
}

/** What is known of a user, as it would be typed. */
export function valuesOf({ username, claims, roles }: User): Values {
  return {
    ...profile.valuesOf(claims),
    username,
    email: (claims['email'] as string | undefined) ?? '',
    email_verified: claims['email_verified'] === true ? 'yes' : 'no',
    roles: roles.join(' '),
  }
}

export function problemsOf(values: Values, shown: Values): Errors {
  const email = values['email'] ?? ''
  const wrong = email !== shown['email'] && email !== '' && !isMailAddress(email)
  return {
    ...profile.problemsOf(values, shown),
    ...(wrong ? { email: NO_MAIL_ADDRESS } : {}),
  }
}

/** The members that are different from what was shown; null for a claim to be without. */
export function changesOf(values: Values, shown: Values): Record<string, unknown> {
  const differs = (name: string): boolean => values[name] !== shown[name]
  const { username, email = '', email_verified: verified, roles = '' } = values
  return {
    ...profile.changesOf(values, shown),
    ...(differs('username') ? { username } : {}),
    ...(differs('email') || differs('email_verified')
      ? { email: email || null, email_verified: email === '' ? null : verified === 'yes' }
      : {}),
    ...(differs('roles') ? { roles: rolesIn(roles) } : {}),
  }
}

/** `languages` are those of the server. */
export function groupsOf(values: Values, errors: Errors, languages: readonly string[]): Groups {
  const asked = { languages, asBrowser: message('As their browser') }
  const [you, ...rest] = profile.groupsOf(values, errors, asked).map(({ title, fields }) => ({
    title,
    fields: fields.map(({ type: kind, ...one }) => ({ ...one, kind, autocomplete: 'off' })),
  }))
  const own = OWN.map((one) => view(one, values, errors))
  return [{ title: message('Account'), fields: own }, { ...you!, title: message('The person') }, ...rest]
}

/** The field where a refusal of the registry belongs, which begins with a member's name; undefined for none. */
export function fieldOf(member: string): string | undefined {
  const own = [...NEW, ...OWN].find(({ name }) => name === member)?.name
  return own ?? profile.fieldOf(member)
}

export function rolesIn(text: string): string[] {
  return text.split(/\s+/).filter((one) => one !== '')
}

function view(one: Field, values: Values, errors: Errors): FieldView {
  const options = one.kind === 'choice' ? CHOICES : []
  return { ...one, value: values[one.name] ?? '', error: errors[one.name] ?? null, options }
}
