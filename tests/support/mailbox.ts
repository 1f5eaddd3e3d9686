/** What a development server has mailed, as the person reads it whose address it is. */
import type { Mail } from '../../src/doors/mail.ts'
import type { TestServer } from './server.ts'
import { until } from './until.ts'

export interface Mailbox {
  /** The next mail that comes to this address, or that has come and was not read; of this subject and with these words, where they are said. */
  next(to: string, subject?: string, words?: string): Promise<Mail>
  /** All that have come to it, once nothing is on its way any more. */
  all(to: string): Promise<readonly Mail[]>
}

export function openMailbox({ server, database }: TestServer): Mailbox {
  const read = new Set<Mail>()
  const of = (to: string): Mail[] => server.oauth.mail.kept().filter((mail) => mail.to === to)
  const unread = (to: string, subject?: string, words = ''): Mail | undefined =>
    of(to).find(
      (mail) =>
        !read.has(mail) && (subject === undefined || mail.subject === subject) && mail.text.includes(words),
    )
  return {
    async next(to, subject, words) {
      return until(() => {
        const mail = unread(to, subject, words)
        if (mail === undefined) throw new Error(`no mail to ${to}: ${subject ?? 'of any subject'}`)
        read.add(mail)
        return mail
      })
    },
    async all(to) {
      return until(async () => {
        const waiting = await database.query('select kind from outbox where given_up_at is null')
        if (waiting.length > 0) throw new Error(`still on its way: ${JSON.stringify(waiting)}`)
        return of(to)
      })
    },
  }
}

/** The link of a mail. */
export function linkIn({ text }: Pick<Mail, 'text'>): string {
  const [link] = /^https?:\/\/\S+$/m.exec(text) ?? []
  if (link === undefined) throw new Error(`no link: ${text}`)
  return link
}
