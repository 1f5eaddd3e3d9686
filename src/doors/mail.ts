/** Letters to people. What takes them to a mail server is a transport; a plugin that writes one knows nothing of it. */

export interface Mail {
  /** One address. */
  readonly to: string
  readonly subject: string
  readonly text: string
  /** The same, for readers that show it. */
  readonly html?: string
}

/** A mail to be sent. */
export interface OutgoingMail extends Mail {
  /** When it has become of no use, in milliseconds since the epoch: one that waited for a mail server until then is given up. Default never. */
  readonly until?: number
}

/**
 * Takes a mail on its way; its key is `default`. What it throws puts the mail off, and it is tried again for a day; an `Undeliverable` gives
 * it up at once. It may come twice where a process dies meanwhile.
 */
export interface MailTransport {
  /** Within 15 seconds: afterwards it is taken for failed, and comes again. */
  send(mail: Mail): Promise<void>
}

/** There is no way to send a mail: production without a transport. */
export class NoMailTransport extends Error {
  constructor() {
    super('no mail can be sent: no mailTransport is registered')
  }
}
