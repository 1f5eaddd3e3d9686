/**
 * docs/mail-code.md, as it stands there.
 * @needs latchkey-mail-code latchkey-account
 */
import { expect, test } from 'vitest'
import { askForCode, digitsIn, enterCode } from '../support/mail-code.ts'
import { startServer } from '../support/server.ts'
import { SEED } from '../support/sign-in.ts'
import { startSmtpServer } from '../support/smtp-server.ts'
import { createUserAgent } from '../support/user-agent.ts'
import { openPage, sitDown, substitute } from './page.ts'

test('by the settings and the command of the page, a person without any password that they know signs in', async () => {
  const page = await openPage('mail-code.md')
  const smtp = await startSmtpServer()
  const ini = substitute(page.next('ini'), {
    'smtps://': 'smtp://',
    '@mail.example.com': `@127.0.0.1:${smtp.port}`,
  })
  const lines = ini
    .trim()
    .split('\n')
    .map((line) => line.split(/=(.*)/, 2))
  const server = await startServer(Object.fromEntries(lines), { seed: { ...SEED, users: [] } })
  const desk = await sitDown(server.settings)
  await desk.sh(page.next('sh'))
  page.end()
  const agent = createUserAgent(server.url)
  const asked = await askForCode(agent, await agent.get(`${server.url}/sign-in`), 'alice@example.com')
  await expect.poll(() => smtp.mails).toMatchObject([{ to: 'alice@example.com' }])
  const text = smtp.mails[0]!.text.replaceAll('\r', '')
  expect((await enterCode(agent, asked, digitsIn({ text }))).status).toBe(200)
  expect((await agent.get(`${server.url}/account`)).body).toContain('alice')
})
