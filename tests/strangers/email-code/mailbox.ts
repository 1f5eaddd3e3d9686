/** A mail transport for tries: a line of JSON for each mail, in the file that MAILBOX names. */
import { appendFile } from 'node:fs/promises'
import type { FastifyInstance } from 'fastify'
import type {} from 'latchkey'

export default async function mailbox({ oauth }: FastifyInstance): Promise<void> {
  const file = process.env['MAILBOX']
  if (file === undefined) throw new Error('MAILBOX must name a file')
  oauth.register('mailTransport', 'default', {
    send: async (mail) => appendFile(file, `${JSON.stringify(mail)}\n`),
  })
}
