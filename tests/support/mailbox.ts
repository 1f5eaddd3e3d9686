/** What a development server has mailed, as the person reads it whose address it is. */
import { expect } from 'vitest'
import type { Mail } from '../../src/doors/mail.ts'
import type { TestServer } from './server.ts'

export interface Mailbox {
  /** The next mail that comes to this address, or that has come and was not read; of this subject, where it is said. */
  next(to: string, subject?: string): Promise<Mail>
  /** All that have come to it, once nothing is on its way any more. */
  all(to: string): Promise<readonly Mail[]>
}

export function openMailbox({ server, database }: TestServer): Mailbox {
  const read = new Set<Mail>()
  const of = (to: string): Mail[] => server.oauth.mail.kept().filter((mail) => mail.to === to)
  const unread = (to: string, subject?: string): Mail | undefined =>
    of(to).find((mail) => !read.has(mail) && (subject === undefined || mail.subject === subject))
  return {
    async next(to, subject) {
      await expect.poll(() => unread(to, subject), { timeout: 10_000 }).toBeDefined()
      const mail = unread(to, subject)!
      read.add(mail)
      return mail
    },
    async all(to) {
      const waiting = async () =>
        (await database.query('select from outbox where given_up_at is null')).length
      await expect.poll(waiting, { timeout: 10_000 }).toBe(0)
      return of(to)
    },
  }
}

/** The link of a mail. */
export function linkIn({ text }: Pick<Mail, 'text'>): string {
  const [link] = /^https?:\/\/\S+$/m.exec(text) ?? []
  if (link === undefined) throw new Error(`no link: ${text}`)
  return link
}
