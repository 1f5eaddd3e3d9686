/**
 * docs/sign-up.md, as it stands there.
 * @needs latchkey-sign-up
 */
import { expect, test } from 'vitest'
import { startServer } from '../support/server.ts'
import { REDIRECT_URI, SEED, WEB } from '../support/sign-in.ts'
import { startSmtpServer } from '../support/smtp-server.ts'
import { createUserAgent, findForm } from '../support/user-agent.ts'
import { openPage, sitDown, substitute } from './page.ts'

test('by the settings of the page people sign up, and an app leads them there', async () => {
  const page = await openPage('sign-up.md')
  const smtp = await startSmtpServer()
  const ini = substitute(page.next('ini'), {
    'smtps://': 'smtp://',
    '@mail.example.com': `@127.0.0.1:${smtp.port}`,
  })
  const settings = Object.fromEntries(
    ini
      .trim()
      .split('\n')
      .map((line) => line.split(/=(.*)/, 2)),
  )
  const server = await startServer(settings, { seed: SEED })
  const address = substitute(page.next('').trim(), {
    'https://login.example.com': server.url,
    'client_id=shop&…': `client_id=${WEB.client_id}&response_type=code&scope=openid&state=s&redirect_uri=${encodeURIComponent(REDIRECT_URI)}`,
    'alice@example.com': 'ada@example.com',
  })
  const agent = createUserAgent(server.url)
  const form = await agent.get(address)
  await agent.submit(form, 'sign-up', { username: 'ada', password: 'a password of her own' })
  await expect.poll(() => smtp.mails).toMatchObject([{ to: 'ada@example.com' }])
  const [link] = /http:\/\/\S+\/sign-up\/confirm\?token=[\w-]+/.exec(smtp.mails[0]!.text)!
  const next = await agent.submit(await agent.get(link), 'confirm')
  expect(findForm(next, 'consent')).toBeDefined()
  const desk = await sitDown(server.settings)
  const { stdout } = await desk.sh(page.next('sh'))
  page.end()
  expect(stdout).toContain('ada')
})
