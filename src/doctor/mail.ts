/** Whether mails can be sent: the mail server is asked, and gets none. */
import { createSmtpTransport } from '../../plugins/mail/smtp.ts'
import type { Config } from '../config.ts'
import { parseSmtpUrl } from '../protocol/mail-address.ts'
import { fail, ok, type Finding } from './finding.ts'

const CHECK = 'mail'

export async function examineMail({ SMTP_URL: url, MAIL_FROM: from, production }: Config): Promise<Finding> {
  if (url === undefined || from === undefined)
    return ok(
      CHECK,
      production
        ? 'SMTP_URL is not set: what needs mail is off, unless a plugin of yours sends them.'
        : 'SMTP_URL is not set: a development server keeps mails in memory, to be read at /dev/mail.',
    )
  const { host, port } = parseSmtpUrl(url)!
  try {
    await createSmtpTransport(url, from).verify()
    return ok(CHECK, `The mail server ${host}, port ${port}, takes mails of ours.`)
  } catch (error) {
    return fail(
      CHECK,
      `No mail goes out by ${host}, port ${port}: ${(error as Error).message}: mend SMTP_URL, or the mail server.`,
    )
  }
}
