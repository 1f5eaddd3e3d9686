/** Letters to people. What takes them to a mail server is a transport; a plugin that writes one knows nothing of it. */

export interface Mail {
  /** One address. */
  readonly to: string
  readonly subject: string
  readonly text: string
  /** The same, for readers that show it. */
  readonly html?: string
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
