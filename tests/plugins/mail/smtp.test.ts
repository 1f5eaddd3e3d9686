/** Mails to a real mail server that is well, away, slow, full, or refuses: nothing is lost, nobody waits, each comes once. */
import { expect, test } from 'vitest'
import { createSmtpTransport } from '../../../plugins/mail/smtp.ts'
import { kernelOf } from '../../../src/http/kernel-of.ts'
import { Type } from '../../../src/protocol/schema.ts'
import { Undeliverable } from '../../../src/doors/outbound.ts'
import { createCertificate } from '../../support/deployed.ts'
import { startServer, type TestServer } from '../../support/server.ts'
import { freePort } from '../../support/settings.ts'
import { startSmtpServer, WELL } from '../../support/smtp-server.ts'
import { isThere } from '../../support/left-out.ts'

const FROM = 'Example <login@example.com>'
const mail = { to: 'alice@example.com', subject: 'Grüße', text: 'Hello\n.\nAlice', html: '<p>Hello</p>' }
const settings = (port: number) => ({ SMTP_URL: `smtp://127.0.0.1:${port}`, MAIL_FROM: FROM })

/** What waits is due now, in every process. */
async function hurry({ database }: TestServer): Promise<void> {
  await database.query(`update outbox set due_at = now() where given_up_at is null`)
  await database.query(`insert into changes (id, kind, key) values (gen_random_uuid(), 'delivery', '')`)
}
const rowsOf = async ({ database }: TestServer) =>
  database.query<{ last_error: string | null; given_up_at: Date | null; attempts: number }>(
    'select * from outbox',
  )

test.runIf(isThere('latchkey-forgot-password'))(
  'a mail arrives with both its forms, from whom the settings say',
  async () => {
    const smtp = await startSmtpServer()
    const server = await startServer(settings(smtp.port))
    expect(server.server.oauth.mail.isOn()).toBe(true)
    await server.server.oauth.mail.send(mail)
    await expect.poll(() => smtp.mails.length).toBe(1)
    const [received] = smtp.mails
    expect(received).toMatchObject({ from: 'login@example.com', to: mail.to })
    expect(received!.text.trim()).toBe(mail.text)
    expect(received!.html.trim()).toBe(mail.html)
    expect(received!.headers.get('from')).toBe(FROM)
    expect(received!.headers.get('auto-submitted')).toBe('auto-generated')
    await expect.poll(async () => rowsOf(server)).toEqual([])
    expect(server.server.oauth.mail.kept()).toEqual([])
    const sent = await (await server.get('/forgot-password?sent=yes')).text()
    expect(sent).toContain('Check your email')
    expect(sent).not.toContain('/dev/mail')
  },
)

test('a server that is away keeps nobody waiting, and the mail comes when it is back', async () => {
  const port = await freePort()
  const server = await startServer(settings(port))
  await server.server.oauth.mail.send(mail)
  await expect.poll(async () => (await rowsOf(server))[0]?.last_error).toBe('the mail server cannot be reached (ECONNREFUSED)')
  const smtp = await startSmtpServer({ port })
  await hurry(server)
  await expect.poll(() => smtp.mails.length).toBe(1)
}) // prettier-ignore

test('a refusal for now is tried again; one for good is given up at once, and told without the address', async () => {
  const smtp = await startSmtpServer()
  const server = await startServer(settings(smtp.port))
  const { oauth } = server.server
  smtp.replies.recipient = (address) =>
    address.startsWith('full') ? `452 4.2.2 <${address}> is full` : address.startsWith('gone') ? `550 5.1.1 <${address}> is not here` : '250 ok'
  await oauth.mail.send({ ...mail, to: 'full@example.com' })
  await oauth.mail.send({ ...mail, to: 'gone@example.com' })
  await oauth.mail.send(mail)
  await expect.poll(() => smtp.mails.map(({ to }) => to)).toEqual([mail.to])
  const told = async () => (await rowsOf(server)).map(({ last_error, given_up_at }) => `${last_error}: ${given_up_at === null ? 'waits' : 'given up'}`).toSorted()
  await expect.poll(told).toEqual([
    'the mail server answered 452 4.2.2 to RCPT TO: waits',
    'the mail server takes no mail for this address (550 5.1.1): given up',
  ])
  const { events } = await oauth.audit.list({ type: 'delivery.given_up' })
  expect(events).toMatchObject([{ details: { kind: 'mail', attempts: 1 } }])
  expect(JSON.stringify(events) + server.output()).not.toContain('gone@example.com')
  expect(server.output()).not.toContain('full@example.com')
  smtp.replies = { ...WELL }
  await hurry(server)
  await expect.poll(() => smtp.mails.map(({ to }) => to)).toEqual([mail.to, 'full@example.com'])
  const [givenUp] = (await oauth.givenUpDeliveries.list()).deliveries
  await oauth.givenUpDeliveries.retry(givenUp!.id)
  await expect.poll(() => smtp.mails.at(-1)?.to).toBe('gone@example.com')
}) // prettier-ignore

test('what the server has against us, and not against a mail, loses none', async () => {
  const smtp = await startSmtpServer()
  const transport = createSmtpTransport(`smtp://us:wrong%20one@127.0.0.1:${smtp.port}`, FROM)
  const refusalOf = async () => transport.send(mail).catch((error: unknown) => error)
  smtp.replies.auth = '535 5.7.8 wrong one'
  const refused = (await refusalOf()) as Error
  expect(refused).not.toBeInstanceOf(Undeliverable)
  expect(refused.message).toBe('the mail server takes neither name nor password of SMTP_URL (535 5.7.8)')
  smtp.replies = { ...WELL, from: '550 5.7.1 not you' }
  expect(await refusalOf()).not.toBeInstanceOf(Undeliverable)
  smtp.replies = { ...WELL, greeting: '554 5.3.2 not now' }
  expect(await refusalOf()).not.toBeInstanceOf(Undeliverable)
  smtp.replies = { ...WELL, data: '554 5.6.0 spam' }
  expect(await refusalOf()).toBeInstanceOf(Undeliverable)
  smtp.replies = { ...WELL, data: '451 4.3.0 later' }
  expect(await refusalOf()).not.toBeInstanceOf(Undeliverable)
  smtp.replies = { ...WELL }
  expect(await refusalOf()).toBeUndefined()
})

test('one that says nothing is left in time, whatever it says nothing to', async () => {
  const smtp = await startSmtpServer()
  const transport = createSmtpTransport(`smtp://127.0.0.1:${smtp.port}`, FROM, 300)
  for (const silent of [{ greeting: null }, { from: null }, { recipient: () => null }, { data: null }]) {
    smtp.replies = { ...WELL, ...silent }
    await expect(transport.send(mail)).rejects.toThrow('the mail server took longer than 0.3 seconds')
  }
  // And no connection is left behind.
  await expect.poll(() => smtp.open()).toBe(0)
  expect(smtp.mails).toEqual([])
})

test('while one mail hangs the others come, and so does what is no mail', async () => {
  const smtp = await startSmtpServer()
  smtp.replies.recipient = (address) => (address.startsWith('slow') ? null : '250 ok')
  const done: unknown[] = []
  const server = await startServer(settings(smtp.port), {
    extend: ({ oauth }) =>
      oauth.deliver({ kind: 'other', payload: Type.Object({}), deliver: async () => void done.push(1) }),
  })
  const { oauth } = server.server
  for (let n = 0; n < 6; n++) await oauth.mail.send({ ...mail, to: `slow${n}@example.com` })
  await expect.poll(() => smtp.commands.filter((line) => line.startsWith('RCPT')).length).toBe(6)
  await oauth.mail.send(mail)
  await oauth.enqueue('other', {})
  await expect.poll(() => [smtp.mails.length, done.length]).toEqual([1, 1])
  await smtp.close()
})

test('two processes deliver each mail once', async () => {
  const smtp = await startSmtpServer()
  const first = await startServer(settings(smtp.port))
  const second = await startServer(
    { ...settings(smtp.port), SECRET_KEY: first.settings['SECRET_KEY'] },
    { database: first.database },
  )
  const subjects = Array.from({ length: 40 }, (_, at) => `Mail ${at}`)
  await Promise.all(
    subjects.map(async (subject, at) =>
      [first, second][at % 2]!.server.oauth.mail.send({ ...mail, subject }),
    ),
  )
  await expect.poll(async () => (await rowsOf(first)).length).toBe(0)
  expect(smtp.mails.map(({ headers }) => String(headers.get('subject'))).toSorted()).toEqual(
    subjects.toSorted(),
  )
})

test('a certificate that nobody vouches for is not taken', async () => {
  const smtp = await startSmtpServer({ certificate: await createCertificate('localhost') })
  const transport = createSmtpTransport(`smtps://us:secret@127.0.0.1:${smtp.port}`, FROM)
  await expect(transport.verify()).rejects.toThrow(/cannot be trusted|cannot be reached/)
  expect(smtp.commands).toEqual([])
})

test('who asks for two ways has neither: the start says so', async () => {
  const smtp = await startSmtpServer()
  const other = startServer(settings(smtp.port), {
    extend: ({ oauth }) => oauth.register('mailTransport', 'default', { send: async () => {} }),
  })
  await expect(other).rejects.toThrow('The mailTransport default is registered twice.')
})

test('without a mail server a production start says that mails are off', async () => {
  const server = await startServer({ OIDC_ISSUER: 'https://login.example.com' })
  expect(kernelOf(server.server).mail.isOn()).toBe(false)
  expect(server.output()).toContain(
    'no mail can be sent, so what needs it is off: set SMTP_URL and MAIL_FROM',
  )
  for (const path of ['/dev/mail', '/dev/mail/1'])
    expect((await server.server.inject(path)).statusCode).toBe(404)
})
