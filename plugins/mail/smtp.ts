/**
 * The mail server that SMTP_URL names, by nodemailer, which is loaded with the first mail. What it answers may quote an address or a
 * password: of its words, codes alone come through here.
 */
import { type Mail, type MailTransport } from '../../src/doors/mail.ts'
import { Undeliverable } from '../../src/doors/outbound.ts'
import { parseSender, parseSmtpUrl } from '../../src/protocol/mail-address.ts'
import { isLoopbackHost } from '../../src/protocol/redirect-uri.ts'

export interface SmtpTransport extends MailTransport {
  /** Whether it answers, and takes our name and password. Throws what is wrong. */
  verify(): Promise<void>
}

/** Milliseconds for one mail, all in all: less than the outbox gives, so that none is sent twice because it was slow. */
const LIMIT = 12_000
/** Milliseconds for parts of it. */
const PATIENCE = { connectionTimeout: 5000, greetingTimeout: 5000, dnsTimeout: 5000, socketTimeout: 10_000 }

/** What nodemailer tells of a failure. */
interface Failure extends Error {
  readonly code?: string
  /** The reply of the server (RFC 5321 §4.2), and to which command. */
  readonly responseCode?: number
  readonly response?: string
  readonly command?: string
}

/** `url` and `from` are settings that were parsed before; `limit` is milliseconds for a mail. */
export function createSmtpTransport(url: string, from: string, limit = LIMIT): SmtpTransport {
  const { host, port, secure, credentials } = parseSmtpUrl(url)!
  const options = {
    ...PATIENCE,
    host,
    port,
    secure,
    // Where the server offers it, STARTTLS is taken in any case; without it a password does not leave this machine.
    requireTLS: credentials !== null && !secure && !isLoopbackHost(host),
    auth: credentials ?? undefined,
    disableFileAccess: true,
    disableUrlAccess: true,
  }
  const open = async () => (await import('nodemailer')).createTransport(options)
  let opened: ReturnType<typeof open> | undefined
  const transporter = async () => (opened ??= open())

  return {
    async send({ to, subject, text, html }: Mail) {
      const mail = {
        from: parseSender(from)!,
        to: { name: '', address: to },
        subject,
        text,
        html,
        // RFC 3834 §5: nobody's absence is to be told to us.
        headers: { 'Auto-Submitted': 'auto-generated' },
        signal: AbortSignal.timeout(limit),
      }
      try {
        await (await transporter()).sendMail(mail)
      } catch (error) {
        throw toPublic(error as Failure, limit)
      }
    },
    async verify() {
      try {
        await (await transporter()).verify()
      } catch (error) {
        throw toPublic(error as Failure, limit)
      }
    },
  }
}

function toPublic(
  { code, responseCode, response = '', command = '', message }: Failure,
  limit: number,
): Error {
  if (code === 'EABORT') return new Error(`the mail server took longer than ${limit / 1000} seconds`)
  if (code === 'EENVELOPE' && responseCode === undefined)
    return new Undeliverable('the address cannot be one of a mail')
  if (responseCode === undefined) return new Error(withoutReply(code, message))
  // Its enhanced form too (RFC 3463), for it says why.
  const [, enhanced] = /^\d{3}[ -](\d\.\d{1,3}\.\d{1,3})\b/.exec(response) ?? []
  const reply = enhanced === undefined ? String(responseCode) : `${responseCode} ${enhanced}`
  if (code === 'EAUTH')
    return new Error(`the mail server takes neither name nor password of SMTP_URL (${reply})`)
  // RFC 5321 §4.2.1: what is permanent would be said again. What it says to us and not to this mail may be mended.
  const isPermanent = responseCode >= 500 && responseCode !== 503
  if (isPermanent && command === 'RCPT TO')
    return new Undeliverable(`the mail server takes no mail for this address (${reply})`)
  if (isPermanent && command === 'DATA')
    return new Undeliverable(`the mail server refuses this mail (${reply})`)
  return new Error(`the mail server answered ${reply} to ${command === 'CONN' ? 'the connection' : command}`)
}

function withoutReply(code: string | undefined, message: string): string {
  if (code === 'ETLS') return 'there is no TLS with the mail server, or its certificate cannot be trusted'
  if (code === 'EDNS') return 'the name of the mail server cannot be resolved'
  if (code === 'ETIMEDOUT') return 'the mail server does not answer in time'
  const [, reason = code ?? 'unknown'] = /^(?:connect|read|write) (E[A-Z]+)\b/.exec(message) ?? []
  return `the mail server cannot be reached (${reason})`
}
