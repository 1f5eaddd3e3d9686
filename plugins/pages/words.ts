/** The words that people read for what the standards name: scopes, the statuses of the error page, reasons at a field. */

import type { OAuthError } from '../../src/protocol/errors.ts'
import { sentenceOf, type Words } from '../../src/protocol/message.ts'

export interface ScopeText {
  title: string
  description: string | null
}

/** The scopes of OpenID Connect Core §5.4 and §11; `openid` is not shown. */
export const standardScopes: ReadonlyMap<string, ScopeText> = new Map([
  ['profile', { title: 'Your profile', description: 'Your name, picture, time zone and language.' }],
  ['email', { title: 'Your email address', description: 'And whether it has been confirmed.' }],
  ['address', { title: 'Your postal address', description: null }],
  ['phone', { title: 'Your phone number', description: 'And whether it has been confirmed.' }],
  [
    'offline_access',
    {
      title: 'Stay connected when you are away',
      description: 'It keeps this access, without asking again, until you take it back.',
    },
  ],
])

/** The claims of OpenID Connect Core §5.1. */
const CLAIMS: ReadonlyMap<string, string> = new Map([
  ['name', 'Your full name'],
  ['given_name', 'Your given name'],
  ['middle_name', 'Your middle name'],
  ['family_name', 'Your family name'],
  ['nickname', 'Your nickname'],
  ['preferred_username', 'Your user name'],
  ['profile', 'The address of your profile page'],
  ['picture', 'Your picture'],
  ['website', 'Your website'],
  ['gender', 'Your gender'],
  ['birthdate', 'Your date of birth'],
  ['zoneinfo', 'Your time zone'],
  ['locale', 'Your language'],
  ['updated_at', 'When your profile last changed'],
  ['email', 'Your email address'],
  ['email_verified', 'Whether your email address has been confirmed'],
  ['phone_number', 'Your phone number'],
  ['phone_number_verified', 'Whether your phone number has been confirmed'],
  ['address', 'Your postal address'],
])

/** A single claim, as the consent page names it. */
export function wordsOfClaim(name: string): string {
  const [base = name, language] = name.split('#', 2)
  const words = CLAIMS.get(base)
  if (words === undefined) return `“${name}” of your profile`
  return language === undefined ? words : `${words} (${language})`
}

interface Apology {
  title: string
  text: string
}

const APOLOGIES: ReadonlyMap<number, Apology> = new Map([
  [
    403,
    { title: 'This is not allowed', text: 'This page is not for you, or it has been open for too long.' },
  ],
  [404, { title: 'There is nothing here', text: 'The page has moved, or its address was mistyped.' }],
  [
    429,
    { title: 'Too many tries', text: 'To keep accounts safe, we ask you to wait a little and try again.' },
  ],
  [
    503,
    { title: 'We are briefly away', text: 'Something that we need does not answer. Try again in a moment.' },
  ],
])
const THEIRS = {
  title: 'We cannot go on',
  text: 'This is not your fault: the app that sent you here asked for something that we cannot do. Go back to it and try again.',
}
const OURS = {
  title: 'Something went wrong',
  text: 'This is not your fault: something broke here, and we have a record of it. Try again in a moment.',
}

/** What the error page says to the person in front of it. */
export function apologyFor(status: number): Apology {
  return APOLOGIES.get(status) ?? (status >= 500 ? OURS : THEIRS)
}

/**
 * What a registry refused, at the field that `fieldOf` knows for the member that it is about; of one that it knows none for, all of it
 * under `form`.
 */
export function problemsIn(
  { about, message: whole }: OAuthError,
  fieldOf: (member: string) => string | undefined,
  form: string,
): Readonly<Record<string, Words>> {
  const field = about === undefined ? undefined : fieldOf(about.member)
  return about === undefined || field === undefined
    ? { [form]: sentenceOf(whole) }
    : { [field]: sentenceOf(about.reason) }
}
