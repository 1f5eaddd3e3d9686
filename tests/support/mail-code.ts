/** Signing in by a code that comes by mail, as a person does it. */
import { expect } from 'vitest'
import type { Mail } from '../../src/doors/mail.ts'
import type { Mailbox } from './mailbox.ts'
import { findForm, type Page, type UserAgent } from './user-agent.ts'

export const MAIL_CODE = { OIDC_MAIL_CODE: 'on' }
export const CODE_SUBJECT = 'Your code to sign in'

/** From the sign-in page, with what stands in the field of the user name, to the page that takes the code. */
export async function askForCode(agent: UserAgent, signInPage: Page, username: string): Promise<Page> {
  return agent.submit(signInPage, 'mail-code-form', { username, password: '' })
}

export async function enterCode(agent: UserAgent, page: Page, code: string): Promise<Page> {
  return agent.submit(page, 'enter-code', { code })
}

/** The six digits of a mail. */
export function digitsIn({ text }: Pick<Mail, 'text'>): string {
  const [digits] = /^\d{6}$/m.exec(text) ?? []
  if (digits === undefined) throw new Error(`no code: ${text}`)
  return digits
}

export async function nextCode(mailbox: Mailbox, to: string): Promise<string> {
  return digitsIn(await mailbox.next(to, CODE_SUBJECT))
}

/** Another code than this one. */
export function otherThan(code: string): string {
  return String((Number(code) + 1) % 1_000_000).padStart(6, '0')
}

/** What is wrong, in words; `''` where nothing is. */
export function problemOn({ body }: Page): string {
  return /id="(?:code|again|email|mail-code)-error"[^>]*>([^<]*)/.exec(body)?.[1]!.trim() ?? ''
}

export function expectCodePage(page: Page, status = 200): void {
  expect([page.status, findForm(page, 'enter-code') !== undefined]).toEqual([status, true])
}
