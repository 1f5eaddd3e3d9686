/**
 * `oauth.mail`: hands mails to the transport that is registered. In development there may be none: then they are kept in memory, for
 * developers to read, and logged without what they say, as that may be a code or a link.
 */
import type { FastifyBaseLogger } from 'fastify'
import { type Mail, NoMailTransport } from '../doors/mail.ts'
import type { DoorRegistry } from '../doors/registry.ts'

export interface Mailer {
  /**
   * Throws `NoMailTransport` in production without a transport, `TypeError` for what cannot be a mail, and what the transport
   * throws.
   */
  send(mail: Mail): Promise<void>
  /** Whether `send` has a way, or keeps: plugins that need mail are off without. */
  readonly isOn: () => boolean
  /** What had no transport in this process, the latest last; at most a hundred, and none in production. */
  kept(): readonly Mail[]
}

const MOST_KEPT = 100
const ADDRESS = /^[^\s@<>,;:"]+@[^\s@<>,;:"]+$/
/** Of a line that is a header: none may end early. */
const LINE = /^[^\p{Cc}]{1,500}$/u

/** @internal */
export function createMailer(doors: DoorRegistry, production: boolean, log: FastifyBaseLogger): Mailer {
  const kept: Mail[] = []
  const transport = () => doors.owners('mailTransport').get('default')
  return {
    async send(mail) {
      if (!ADDRESS.test(mail.to)) throw new TypeError('a mail needs one address to go to')
      if (!LINE.test(mail.subject)) throw new TypeError('a mail needs a subject of one line')
      const owner = transport()
      if (owner !== undefined) return owner.send(mail)
      if (production) throw new NoMailTransport()
      kept.push(mail)
      if (kept.length > MOST_KEPT) kept.shift()
      log.info({ subject: mail.subject }, 'no transport: the mail is kept in memory')
      return undefined
    },
    isOn: () => !production || transport() !== undefined,
    kept: () => kept,
  }
}
