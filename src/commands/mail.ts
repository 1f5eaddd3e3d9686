/** `mail test`: whether mails arrive, and else what the mail server says. */
import { Command } from 'commander'
import { ConfigError } from '../config.ts'
import { isMailAddress } from '../protocol/mail-address.ts'
import { renderLetter, senderOf } from '../../plugins/mail/letters.ts'
import { testLetter } from '../../plugins/mail/test-letter.ts'
import { withJson } from './json-option.ts'
import { print, withServer } from './run.ts'

export function mailCommand(): Command {
  const command = new Command('mail').description('mails')
  withJson(command.command('test <address>').description('send one at once, and see what the mail server says')).action(
    async (address: string, { json }: { json?: boolean }) => {
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
        print({ to: address, sent: true }, [`A mail to ${address} was handed to the mail server.`], json)
      })
    },
  )
  return command
} // prettier-ignore
