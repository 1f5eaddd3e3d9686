/** One mail that is sent at once, by which operators see that mails arrive: `mail test`, and `doctor --mail`. */
import { ConfigError } from '../config.ts'
import { isMailAddress } from '../protocol/mail-address.ts'
import { renderLetter, senderOf } from '../../plugins/mail/letters.ts'
import { testLetter } from '../../plugins/mail/test-letter.ts'
import { withServer } from './run.ts'

/** Once the mail server has taken it. Throws `ConfigError` with a sentence that says why it has not. */
export async function sendTestMail(address: string): Promise<void> {
  if (!isMailAddress(address)) throw new ConfigError(`${address.slice(0, 80)} is no email address.`)
  await withServer(async ({ config, doors, issuer, languages }, server) => {
    const transport = doors.owners('mailTransport').get('default')
    if (transport === undefined) throw new ConfigError('No mail can be sent: set SMTP_URL and MAIL_FROM.')
    const language = await languages.of({ tags: [], zone: null })
    const start = server.hasDecorator('pages') ? server.pages.places.start() : null
    const letter = await renderLetter(testLetter(issuer, start), senderOf(config, issuer), language)
    await transport.send({ to: address, ...letter }).catch((error: Error) => {
      throw new ConfigError(`The mail was not sent: ${error.message}.`)
    })
  })
}

/** What became of it, in a sentence. */
export const handedOver = (address: string): string => `A mail to ${address} was handed to the mail server.`
