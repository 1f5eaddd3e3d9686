/** `mail test`: whether mails arrive, and else what the mail server says. */
import { Command } from 'commander'
import { withJson } from './json-option.ts'
import { print } from './run.ts'
import { handedOver, sendTestMail } from './test-mail.ts'

export function mailCommand(): Command {
  const command = new Command('mail').description('mails')
  withJson(command.command('test <address>').description('send one at once, and see what the mail server says')).action(
    async (address: string, { json }: { json?: boolean }) => {
      await sendTestMail(address)
      print({ to: address, sent: true }, [handedOver(address)], json)
    },
  )
  return command
} // prettier-ignore
