/** docs/mail.md, as it stands there. */
import { parseEnv } from 'node:util'
import { expect, test } from 'vitest'
import { startServer } from '../support/server.ts'
import { startSmtpServer } from '../support/smtp-server.ts'
import { openPage, sitDown, substitute } from './page.ts'

test('the settings and the command of the page send a mail', async () => {
  const page = await openPage('mail.md')
  const smtp = await startSmtpServer()
  const ini = substitute(page.next('ini'), {
    'smtps://': 'smtp://',
    'mail.example.com': `127.0.0.1:${smtp.port}`,
  })
  const server = await startServer(parseEnv(ini))
  const desk = await sitDown(server.settings)
  const { stdout } = await desk.sh(page.next('sh'))
  page.end()
  expect(stdout).toBe('A mail to alice@example.com was handed to the mail server.\n')
  expect(smtp.mails).toMatchObject([{ from: 'login@example.com', to: 'alice@example.com' }])
  const [credentials] = smtp.commands.filter((line) => line.startsWith('AUTH PLAIN'))
  expect(atob(credentials!.slice('AUTH PLAIN '.length))).toBe('\0login\0PASSWORD')
})
