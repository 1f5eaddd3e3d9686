/** `/dev/mail`: what a development start has sent, read at this machine alone. */
import { expect, test } from 'vitest'
import { startServer } from '../../support/server.ts'
import { startSmtpServer } from '../../support/smtp-server.ts'

const server = await startServer()
const { oauth, letters } = server.server
const letter = {
  subject: 'Your <link>',
  paragraphs: ['Somebody called <b>Ann</b>\n\nasked for it.'],
  button: { text: 'Go on', href: `${oauth.issuer}/go?token=canary-token&more=1` },
  otherwise: 'If this was not you, do nothing.',
}
const read = async (path: string) => {
  const response = await server.get(path)
  return { status: response.status, headers: response.headers, body: await response.text() }
}

test('a mail stands in the list, and can be read as text, as a page and as mail programs show it', async () => {
  expect((await read('/dev/mail')).body).toContain('There are none yet.')
  await letters.send('ann@example.com', letter)
  await letters.send('bob@example.com', { ...letter, subject: 'Another', button: null })
  const list = await read('/dev/mail')
  expect([...list.body.matchAll(/href="(\/dev\/mail\/\d+)"/g)].map(([, href]) => href)).toEqual([
    '/dev/mail/2',
    '/dev/mail/1',
  ])
  const text = await read('/dev/mail/1?format=text')
  expect(text.headers.get('content-type')).toBe('text/plain; charset=utf-8')
  expect(text.body).toBe(
    `To: ann@example.com\nSubject: Your <link>\n\nYour <link>\n\nSomebody called <b>Ann</b> asked for it.\n\nGo on:\n${letter.button.href}\n\nIf this was not you, do nothing.\n\n-- \nFrom Latchkey at ${new URL(server.url).host}`,
  )
  const page = await read('/dev/mail/1')
  const href = letter.button.href.replace('&', '&amp;')
  expect(page.body).toContain(`<a href="${href}">${href}</a>`)
  expect(page.body).not.toContain('<b>Ann')
  const html = await read('/dev/mail/1?format=html')
  expect(html.body).toContain('Somebody called &lt;b&gt;Ann&lt;/b&gt; asked for it.')
  expect(html.body).toContain(`<a class="button" href="${href}">Go on</a>`)
  expect(html.body).not.toMatch(/<img|<script|src=|url\(/)
  expect(html.headers.get('content-security-policy')).toContain("default-src 'none'")
  expect((await read('/dev/mail/2?format=text')).body).not.toContain('Go on')
})

test('a number stays that of its mail, as long as there is one', async () => {
  for (let n = 3; n <= 103; n++)
    await oauth.mail.send({ to: 'a@example.com', subject: `Mail ${n}`, text: '' })
  expect((await read('/dev/mail/103')).body).toContain('Mail 103')
  expect((await read('/dev/mail/4')).body).toContain('Mail 4')
  for (const gone of ['1', '3', '104', '0', '04', 'x', '4%20'])
    expect([gone, (await read(`/dev/mail/${gone}`)).status]).toEqual([gone, 404])
})

test('nobody reads it from elsewhere, nor by a name that leads here', async () => {
  const ask = async (options: { remoteAddress?: string; headers?: Record<string, string> }) =>
    (await server.server.inject({ url: '/dev/mail/103?format=text', ...options })).statusCode
  const here = { host: new URL(server.url).host }
  expect(await ask({ headers: here })).toBe(200)
  expect(await ask({ headers: { host: 'localhost:3000' } })).toBe(200)
  expect(await ask({ headers: { host: 'rebound.example' } })).toBe(404)
  expect(await ask({ headers: here, remoteAddress: '192.0.2.1' })).toBe(404)
})

test('what it says is in no log', () => {
  expect(server.output()).not.toContain('canary-token')
})

test('where there is a mail server, there is nothing to read', async () => {
  const smtp = await startSmtpServer()
  const own = await startServer({ SMTP_URL: `smtp://127.0.0.1:${smtp.port}`, MAIL_FROM: 'a@example.com' })
  for (const path of ['/dev/mail', '/dev/mail/1']) expect((await own.get(path)).status).toBe(404)
})
