/** The words that people read for what the standards name: scopes, the statuses of the error page, reasons at a field. */

import type { AboutMember, OAuthError } from '../../src/protocol/errors.ts'
import { type Message, message, sentenceOf, type Words } from '../../src/protocol/message.ts'

export interface ScopeText {
  title: Words
  description: Words | null
}

/** The scopes of OpenID Connect Core §5.4 and §11; `openid` is not shown. */
export const standardScopes: ReadonlyMap<string, ScopeText> = new Map<string, ScopeText>([
  [
    'profile',
    { title: message('Your profile'), description: message('Your name, picture, time zone and language.') },
  ],
  [
    'email',
    { title: message('Your email address'), description: message('And whether it has been confirmed.') },
  ],
  ['address', { title: message('Your postal address'), description: null }],
  [
    'phone',
    { title: message('Your phone number'), description: message('And whether it has been confirmed.') },
  ],
  [
    'offline_access',
    {
      title: message('Stay connected when you are away'),
      description: message('It keeps this access, without asking again, until you take it back.'),
    },
  ],
])

/** The claims of OpenID Connect Core §5.1. */
const CLAIMS: ReadonlyMap<string, Message> = new Map([
  ['name', message('Your full name')],
  ['given_name', message('Your given name')],
  ['middle_name', message('Your middle name')],
  ['family_name', message('Your family name')],
  ['nickname', message('Your nickname')],
  ['preferred_username', message('Your user name')],
  ['profile', message('The address of your profile page')],
  ['picture', message('Your picture')],
  ['website', message('Your website')],
  ['gender', message('Your gender')],
  ['birthdate', message('Your date of birth')],
  ['zoneinfo', message('Your time zone')],
  ['locale', message('Your language')],
  ['updated_at', message('When your profile last changed')],
  ['email', message('Your email address')],
  ['email_verified', message('Whether your email address has been confirmed')],
  ['phone_number', message('Your phone number')],
  ['phone_number_verified', message('Whether your phone number has been confirmed')],
  ['address', message('Your postal address')],
])

/** A single claim, as the consent page names it. */
export function wordsOfClaim(name: string): Message {
  const [base = name, language] = name.split('#', 2)
  const claim = CLAIMS.get(base)
  if (claim === undefined) return message('“{name}” of your profile', { name })
  return language === undefined ? claim : message('{claim} ({language})', { claim, language })
}

interface Apology {
  title: Message
  text: Message
}

const APOLOGIES: ReadonlyMap<number, Apology> = new Map([
  [
    403,
    {
      title: message('This is not allowed'),
      text: message('This page is not for you, or it has been open for too long.'),
    },
  ],
  [
    404,
    {
      title: message('There is nothing here'),
      text: message('The page has moved, or its address was mistyped.'),
    },
  ],
  [
    429,
    {
      title: message('Too many tries'),
      text: message('To keep accounts safe, we ask you to wait a little and try again.'),
    },
  ],
  [
    503,
    {
      title: message('We are briefly away'),
      text: message('Something that we need does not answer. Try again in a moment.'),
    },
  ],
])
const THEIRS: Apology = {
  title: message('This request is not valid'),
  text: message(
    'This is not your fault: the app that sent you here asked for something that we cannot do. Go back to it and try again.',
  ),
}
const OURS: Apology = {
  title: message('Something went wrong'),
  text: message(
    'This is not your fault: something broke here, and we have a record of it. Try again in a moment.',
  ),
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
  error: OAuthError,
  fieldOf: (member: string) => string | undefined,
  form: string,
): Readonly<Record<string, Words>> {
  // What was found first is what stands at a field.
  const others = (error.also ?? []).toReversed().flatMap(({ member, reason }) => {
    const field = fieldOf(member)
    return field === undefined ? [] : [[field, sentenceOf(reason)] as const]
  })
  return { ...Object.fromEntries(others), ...firstIn(error, fieldOf, form) }
}

function firstIn(
  error: OAuthError,
  fieldOf: (member: string) => string | undefined,
  form: string,
): Readonly<Record<string, Words>> {
  const about = aboutOf(error)
  const field = about === undefined ? undefined : fieldOf(about.member)
  if (about !== undefined && field !== undefined) return { [field]: sentenceOf(about.reason) }
  if (error.about === undefined) return { [form]: sentenceOf(error.message) }
  const { member, reason } = error.about
  return { [form]: message('{member}: {reason}', { member, reason: sentenceOf(reason) }) }
}

/** A check of a plugin's throws an error of a code and a description, which begins with the member. */
function aboutOf({ about, message: whole }: OAuthError): AboutMember | undefined {
  const [, member, reason = ''] = /^(\w+) (.+)$/s.exec(whole) ?? []
  return about ?? (member === undefined ? undefined : { member, reason })
}
