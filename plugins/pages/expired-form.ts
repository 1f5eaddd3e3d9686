/**
 * Forms of ours that are not genuine any more, as after a sign-in elsewhere: people are told so, and what they typed comes
 * again where its page can show it, but for passwords.
 */
import { message } from '../../src/protocol/message.ts'
import type { Wire } from '../../src/protocol/wire.ts'
import { ExplainedError } from './error-page.ts'
import type { ErrorPage, Notice } from './models.ts'

/** For pages that show once more what was typed: nothing is wrong with it. */
export const LOOK_AGAIN: Notice = {
  kind: 'notice',
  text: message('Nothing is saved yet: look at it once more, and then send it.'),
}
/** What the form that shows a page again has beside what was typed. */
const AGAIN = 'expired_form'
/** Those of plugins too, by the names that they usually have: a password, a PIN, a code that is good once. */
const SECRETS = /^(?:csrf_token|pin|otp|code)$|pass|secret/i
const WORDS = {
  title: message('This page has expired'),
  text: message(
    'It was open for too long, or you have signed in or out meanwhile. What you sent has not been carried out.',
  ),
}
const OPEN_AGAIN = message('Open the page again')

const SIGNED_OUT = {
  title: message('You are not signed in any more'),
  text: message('Sign in, and check whether what you wanted is done.'),
}

/** Where the way on leads: to a page, by its path, or to the one that shows again what was typed. */
export type WayOn = string | NonNullable<ErrorPage['again']> | null

export class ExpiredForm extends ExplainedError {
  constructor(way: WayOn) {
    const description = 'the form did not come from a page of ours in this browser; go back and try again'
    const ways = typeof way === 'string' ? [{ uri: way, text: OPEN_AGAIN }] : []
    super('access_denied', description, { words: WORDS, ways, again: typeof way === 'string' ? null : way })
  }
}

/**
 * The form of a page for who is signed in, sent by nobody: their session has ended meanwhile, as by the same form, whose answer did not
 * come.
 */
export class SignedOutForm extends ExplainedError {
  /** `signInUri` leads back to the page by the sign-in. */
  constructor(signInUri: string) {
    const ways = [{ uri: signInUri, text: message('Sign in') }]
    super('access_denied', 'nobody is signed in any more; sign in and try again', { words: SIGNED_OUT, ways })
  }
}

/** What `work` gives; a form that has expired meanwhile leads to `action`, with what was typed. */
export async function keepingTyped<T>(action: string, wire: Wire, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    throw error instanceof ExpiredForm ? new ExpiredForm({ action, fields: typedAgain(wire) }) : error
  }
}

/** The fields that show what was typed once more. */
export function typedAgain(wire: Wire): Readonly<Record<string, string>> {
  const typed = Object.entries(wire).filter(
    (pair): pair is [string, string] => typeof pair[1] === 'string' && !SECRETS.test(pair[0]),
  )
  return { ...Object.fromEntries(typed), [AGAIN]: 'yes' }
}

/** Whether the form asks for its page alone, filled with what it brings: nothing may be done by it. */
export function isTypedAgain(wire: Wire): boolean {
  return wire[AGAIN] !== undefined
}
