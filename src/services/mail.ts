/**
 * `oauth.mail`: mails to the transport that is registered, by way of the outbox, so that nobody waits for a mail server and none that is
 * away loses any. In development there may be none: then they are kept in memory, for
 * developers to read, and logged without what they say, as that may be a code or a link.
 */
import type { FastifyBaseLogger } from 'fastify'
import { type Mail, NoMailTransport, type OutgoingMail } from '../doors/mail.ts'
import { type Delivery, Undeliverable } from '../doors/outbound.ts'
import type { DoorRegistry } from '../doors/registry.ts'
import { isMailAddress } from '../protocol/mail-address.ts'
import { Type } from '../protocol/schema.ts'
import type { Outbox } from './outbox/outbox.ts'

export interface Mailer {
  /**
   * Stores it; from then on some process hands it to the transport, again and again for a day while that throws. Throws
   * `NoMailTransport` in production without a transport, and `TypeError` for what cannot be a mail.
   */
  send(mail: OutgoingMail): Promise<void>
  /** Whether `send` has a way, or keeps: plugins that need mail are off without. */
  readonly isOn: () => boolean
  /** What had no transport in this process, the latest last; at most a hundred, and none in production. */
  kept(): readonly Mail[]
}

const MOST_KEPT = 100
const KIND = 'mail'
const Payload = Type.Object({
  to: Type.String(),
  subject: Type.String(),
  text: Type.String(),
  html: Type.Optional(Type.String()),
  until: Type.Optional(Type.Number()),
})
/** Of a line that is a header: none may end early. */
const LINE = /^[^\p{Cc}]{1,500}$/u

/** @internal */
export interface OwnMailer extends Mailer {
  /** Once all plugins have come: without a transport there is nothing to deliver, and nobody looks for it. */
  open(): void
  /** How many of `kept` have given way to later ones: the first of them is the one after so many. */
  dropped(): number
}

/** @internal */
export interface MailerOptions {
  doors: DoorRegistry
  outbox: Pick<Outbox, 'enqueue'>
  production: boolean
  log: FastifyBaseLogger
}

/** @internal */
export function createMailer({ doors, outbox, production, log }: MailerOptions): OwnMailer {
  const kept: Mail[] = []
  let dropped = 0
  const transport = () => doors.owners('mailTransport').get('default')
  return {
    open() {
      const owner = transport()
      if (owner === undefined) return
      const delivery: Delivery<typeof Payload> = {
        kind: KIND,
        payload: Payload,
        // None more than was asked for: an optional member is there or not.
        async deliver({ html, until = Infinity, ...mail }) {
          if (until <= Date.now()) throw new Undeliverable('it had become of no use before it could be sent')
          await owner.send(html === undefined ? mail : { ...mail, html })
        },
      }
      doors.register('delivery', KIND, delivery)
    },
    async send({ until, ...mail }) {
      if (!isMailAddress(mail.to)) throw new TypeError('a mail needs one address to go to')
      if (!LINE.test(mail.subject)) throw new TypeError('a mail needs a subject of one line')
      if (transport() !== undefined)
        return outbox.enqueue(KIND, { ...mail, ...(until === undefined ? {} : { until }) })
      if (production) throw new NoMailTransport()
      kept.push(mail)
      if (kept.length > MOST_KEPT && kept.shift() !== undefined) dropped++
      log.info({ subject: mail.subject }, 'no transport: the mail is kept in memory')
      return undefined
    },
    isOn: () => !production || transport() !== undefined,
    kept: () => kept,
    dropped: () => dropped,
  }
}
