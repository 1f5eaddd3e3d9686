/** What operators do about mail: the page, the command, the examination, and leaving it out. */
import { expect, test } from 'vitest'
import type { Finding } from '../../../src/doctor/finding.ts'
import { runCommandHere } from '../../support/command-here.ts'
import { isThere } from '../../support/left-out.ts'
import { startServer } from '../../support/server.ts'
import { SEED } from '../../support/sign-in.ts'
import { freePort, type Settings } from '../../support/settings.ts'
import { startSmtpServer, WELL } from '../../support/smtp-server.ts'
import { createUserAgent } from '../../support/user-agent.ts'
import { ROOT, signedIn } from '../admin/administrator.ts'

const smtp = await startSmtpServer()
const MAIL = {
  SMTP_URL: `smtp://user:canary-password@127.0.0.1:${smtp.port}`,
  MAIL_FROM: 'Example <a@example.com>',
}
const seed = { ...SEED, users: [...SEED.users, ROOT] }
const server = await startServer(MAIL, { seed })
const settings = { ...server.settings, LOG_LEVEL: 'warn' }
const command = async (args: string[], more: Settings = {}) => runCommandHere(args, { ...settings, ...more })

test('an administrator sends a test from the page, which says the way and no password', async () => {
  const agent = await signedIn(server)
  const page = await agent.get(`${server.url}/admin/mail`)
  expect(page.body).toContain(`Mails go to 127.0.0.1, port ${smtp.port}, by STARTTLS where it offers that.`)
  expect(page.body).not.toContain('canary')
  const wrong = await agent.submit(page, 'mail-test', { address: 'no address' })
  expect([wrong.status, wrong.body]).toEqual([400, expect.stringContaining('This must be an email address')])
  const sent = await agent.submit(page, 'mail-test', { address: ' ann@example.com ' })
  expect(sent.body).toContain('A test is on its way.')
  await expect.poll(() => smtp.mails.map(({ to }) => to)).toEqual(['ann@example.com'])
  expect(smtp.mails[0]!.text).toContain(`The server at ${server.url} can send mails`)
})

test('mail test sends one at once, or says what the mail server says', async () => {
  expect(await command(['mail', 'test', 'bob@example.com', '--json'])).toEqual({
    status: 0,
    stdout: '{"to":"bob@example.com","sent":true}\n',
    stderr: '',
  })
  expect(smtp.mails.at(-1)?.to).toBe('bob@example.com')
  smtp.replies.recipient = () => '550 5.1.1 nobody'
  expect(await command(['mail', 'test', 'bob@example.com'])).toMatchObject({
    status: 1,
    stderr: 'The mail was not sent: the mail server takes no mail for this address (550 5.1.1).\n',
  })
  smtp.replies = { ...WELL }
  expect(await command(['mail', 'test', 'bob'])).toMatchObject({ status: 1, stderr: 'bob is no email address.\n' })
  expect(await command(['mail', 'test', 'bob@example.com'], { SMTP_URL: undefined, MAIL_FROM: undefined })).toMatchObject({
    status: 1,
    stderr: 'No mail can be sent: set SMTP_URL and MAIL_FROM.\n',
  })
}) // prettier-ignore

test('doctor asks the mail server, and sends nothing', async () => {
  const look = async (more: Settings = {}) => {
    const { stdout } = await command(['doctor', '--json'], more)
    expect(stdout).not.toContain('canary')
    const { findings } = JSON.parse(stdout) as { findings: Finding[] }
    return findings.find(({ check }) => check === 'mail')
  }
  const before = smtp.mails.length
  expect(await look()).toMatchObject({ status: 'ok', says: `The mail server 127.0.0.1, port ${smtp.port}, takes mails of ours.` })
  smtp.replies.auth = '535 5.7.8 no'
  expect(await look()).toMatchObject({
    status: 'fail',
    says: `No mail goes out by 127.0.0.1, port ${smtp.port}: the mail server takes neither name nor password of SMTP_URL (535 5.7.8): mend SMTP_URL, or the mail server.`,
  })
  smtp.replies = { ...WELL }
  expect(await look({ SMTP_URL: `smtp://127.0.0.1:${await freePort()}` })).toMatchObject({ status: 'fail', says: expect.stringContaining('ECONNREFUSED') as string })
  expect(await look({ SMTP_URL: undefined, MAIL_FROM: undefined })).toMatchObject({ status: 'ok' })
  expect(smtp.mails).toHaveLength(before)
}) // prettier-ignore

test('doctor sends a test where it is told an address, and says what became of it', async () => {
  const look = async (address: string, more: Settings = {}) => {
    const { status, stdout } = await command(['doctor', '--mail', address], more)
    return { status, says: stdout.trim().split('\n').at(-1) }
  }
  const before = smtp.mails.length
  expect(await look('carol@example.com')).toMatchObject({
    says: 'ok    mail: A mail to carol@example.com was handed to the mail server.',
  })
  expect(smtp.mails.slice(before).map(({ to }) => to)).toEqual(['carol@example.com'])
  smtp.replies.recipient = () => '550 5.1.1 nobody'
  expect(await look('carol@example.com')).toEqual({
    status: 1,
    says: 'fail  mail: The mail was not sent: the mail server takes no mail for this address (550 5.1.1).',
  })
  smtp.replies = { ...WELL }
  expect(await look('carol')).toEqual({ status: 1, says: 'fail  mail: carol is no email address.' })
  expect(await look('carol@example.com', { SMTP_URL: undefined, MAIL_FROM: undefined })).toEqual({
    status: 1,
    says: 'fail  mail: No mail can be sent: set SMTP_URL and MAIL_FROM.',
  })
  expect(smtp.mails).toHaveLength(before + 1)
})

test('left out, its pages are gone and all else works', async () => {
  const bare = await startServer(
    { WITHOUT: 'latchkey-mail,latchkey-notices,latchkey-forgot-password' },
    { seed },
  )
  const agent = await signedIn(bare)
  expect((await agent.get(`${bare.url}/admin`)).body).not.toContain('/admin/mail')
  for (const path of ['/admin/mail', '/dev/mail'])
    expect((await createUserAgent(bare.url).get(bare.url + path)).status).toBe(404)
})

test.runIf(isThere('latchkey-notices'))('what needs it is named where it alone is left out', async () => {
  await expect(startServer({ WITHOUT: 'latchkey-mail' })).rejects.toThrow(
    'latchkey-notices needs the plugin latchkey-mail: leave out both, or none.',
  )
})
