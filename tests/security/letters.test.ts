/**
 * Every mail: its links lead to pages that exist, at the issuer, whatever names the request came by and whatever is left out; and what people
 * and apps are called neither turns its words around nor becomes a header.
 */
import { glob, readFile } from 'node:fs/promises'
import { describe, expect, onTestFinished, test } from 'vitest'
import type { Mail } from '../../src/doors/mail.ts'
import { ownPlugins } from '../../src/plugin-list.ts'
import { createDatabase } from '../support/database.ts'
import { CALL_CENTRE } from '../support/ciba.ts'
import {
  ALL_LETTERS,
  LETTERS,
  LETTERS_SEED,
  LETTERS_SETTINGS,
  newReader,
  type Reader,
} from '../support/letters.ts'
import { startServer, type TestServer } from '../support/server.ts'
import { freePort } from '../support/settings.ts'
import { startSmtpServer } from '../support/smtp-server.ts'
import { until } from '../support/until.ts'
import { isThere } from '../support/left-out.ts'

const EVIL = 'evil.example'
const POISONED = {
  host: EVIL,
  forwarded: `host=${EVIL};proto=http`,
  'x-forwarded-host': EVIL,
  'x-forwarded-proto': 'http',
  'x-forwarded-port': '666',
  'x-forwarded-server': EVIL,
  'x-original-host': EVIL,
  'x-host': EVIL,
  referer: `https://${EVIL}/`,
}
const database = await createDatabase()
const settings = { ...LETTERS_SETTINGS, PORT: await freePort(), SECRET_KEY: 'k'.repeat(64) }
const start = async (more: object = {}, without: readonly string[] = [], seed: object = LETTERS_SEED) =>
  startServer({ ...settings, ...more }, { seed, database, build: { without } })

/** Each mail is asked for from another one. */
let networks = 0

type Letter = (typeof LETTERS)[number]

/** The mail that comes of it. */
async function mailOf(
  server: TestServer,
  { cause, subject }: Letter,
  reader: Reader,
  headers: Record<string, string> = {},
): Promise<Mail> {
  const { mail } = server.server.oauth
  await cause(server, reader, { ...headers, 'x-forwarded-for': `192.0.2.${++networks % 250}` })
  return until(() => {
    const found = mail
      .kept()
      .findLast((one) => one.to.endsWith(reader.email) && one.subject.includes(subject))
    if (found === undefined) throw new Error(`no mail: ${subject}`)
    return found
  })
}

const linksIn = ({ text, html = '' }: Mail): string[] => [
  ...[...text.matchAll(/^https?:\/\/\S+$/gm)].map(([link]) => link),
  ...[...html.matchAll(/(?:href|src)="([^"]*)"/g)].map(([, link]) => link!.replaceAll('&amp;', '&')),
]

test('the list has them all', async () => {
  const found: string[] = []
  for await (const file of glob('plugins/**/*.ts'))
    for (const [, name] of (await readFile(file, 'utf8')).matchAll(/function (\w+)\([^)]*\): Letter\b/g))
      found.push(`${file.replace('plugins/', '')} ${name}`)
  expect(ALL_LETTERS.map(({ by }) => by).toSorted()).toEqual(found.toSorted())
})

describe('whatever host and proxies the request names', () => {
  test('each mail leads to the issuer', async () => {
    const server = await start()
    onTestFinished(server.close)
    for (const letter of LETTERS) {
      const mail = await mailOf(server, letter, await newReader(server), POISONED)
      expect([letter.by, `${mail.text}${mail.html}`]).toEqual([letter.by, expect.not.stringContaining(EVIL)])
      const elsewhere = linksIn(mail).filter(
        (link) => !link.startsWith(`${server.url}/`) && link !== server.url,
      )
      expect([letter.by, elsewhere]).toEqual([letter.by, []])
    }
  })
})

/** With those that need it. */
function withDependents(name: string): string[] {
  const left = new Set([name])
  for (let size = 0; size < left.size;) {
    size = left.size
    for (const one of ownPlugins()) if (one.dependencies.some((other) => left.has(other))) left.add(one.name)
  }
  return [...left]
}

test.each(['none', 'latchkey-home', 'latchkey-account', 'latchkey-own-data', 'latchkey-sign-in',  'latchkey-password-sign-in', 'latchkey-sign-up', 'latchkey-forgot-password', 'latchkey-invitation', 'latchkey-notices', 'latchkey-admin'])(
  'without %s each mail that there is leads to pages that are there',
  async (name) => {
    const without = name === 'none' ? [] : withDependents(name)
    const server = await start({}, without)
    onTestFinished(server.close)
    const isWithout = new Set(without)
    if (isWithout.has('latchkey-password-sign-in')) isWithout.add('latchkey-login')
    // Nobody signs in then who is on the way to no app, or has a password.
    if (isWithout.has('latchkey-sign-in')) isWithout.add('latchkey-login')
    for (const letter of LETTERS.filter(({ needs }) => !needs.some((one) => isWithout.has(one)))) {
      const mail = await mailOf(server, letter, await newReader(server))
      for (const link of new Set(linksIn(mail))) {
        const { status } = await server.get(link, { accept: 'text/html' })
        expect([letter.by, link, status]).toEqual([letter.by, link, expect.toSatisfy((one: number) => one < 400)])
      }
    }
  },
) // prettier-ignore

const HOSTILE = {
  'an override': '\u202Emoc.live\u202D',
  'the end of an isolate': '\u2069\u202Emoc.live',
  'letters of Arabic and numbers': 'ع 12.34 ع (',
  'nothing to see and more': '\u200B\uFEFF\u2060x',
  'a very long one': 'W'.repeat(200),
  markup: '<b>"x"</b>&amp;',
}

describe.each(Object.entries(HOSTILE))('a name with %s', (_what, name) => {
  test('keeps to itself in every mail', async () => {
    const clients = LETTERS_SEED.clients.map((one) =>
      one.client_id === CALL_CENTRE.client_id ? { ...one, client_name: name } : one,
    )
    const server = await start({}, [], { ...LETTERS_SEED, clients })
    onTestFinished(server.close)
    for (const letter of LETTERS) {
      const { subject, text, html = '' } = await mailOf(server, letter, await newReader(server, name))
      for (const said of [subject, ...text.split('\n')]) expect([letter.by, said, unbalanced(said)]).toEqual([letter.by, said, false])
      expect([letter.by, /[\u202A-\u202E]/.test(subject + text)]).toEqual([letter.by, false])
      expect([letter.by, [...html.matchAll(/<bdi>([^<]*)<\/bdi>/g)].filter(([, one]) => /[\u202A-\u202E\u2066-\u2069]/.test(one!))]).toEqual([letter.by, []])
      expect([letter.by, html]).toEqual([letter.by, expect.not.stringContaining('<b>')])
      expect([letter.by, subject.length <= 250]).toEqual([letter.by, true])
    }
  }) // prettier-ignore
})

/** Whether an isolate is not ended in the line, or is ended twice, or right-to-left letters stand outside of one. */
function unbalanced(line: string): boolean {
  let depth = 0
  for (const character of line) {
    if (character === '\u2068') depth++
    else if (character === '\u2069') depth--
    else if (depth === 0 && /[\u0590-\u08FF]/.test(character)) return true
    if (depth < 0 || depth > 1) return true
  }
  return depth !== 0
}

test.runIf(isThere('latchkey-ciba'))('neither a name nor an address becomes a header, or another recipient', async () => {
  const smtp = await startSmtpServer()
  const name = 'x Bcc: b@evil.example'
  const clients = LETTERS_SEED.clients.map((one) =>
    one.client_id === CALL_CENTRE.client_id ? { ...one, client_name: `${name} <b@evil.example>, =?utf-8?q?x?=` } : one,
  )
  const server = await start(
    { SMTP_URL: `smtp://127.0.0.1:${smtp.port}`, MAIL_FROM: 'Example <a@example.com>' },
    [],
    { ...LETTERS_SEED, clients },
  )
  onTestFinished(server.close)
  const reader = await newReader(server, name)
  await LETTERS.find(({ by }) => by.includes('ciba'))!.cause(server, reader, {})
  await expect.poll(() => smtp.mails.filter(({ to }) => to === reader.email).length).toBe(1)
  expect(smtp.mails.flatMap(({ headers }) => [...headers.keys()]).filter((one) => one.toLowerCase() === 'bcc')).toEqual([])
  expect(smtp.commands.filter((one) => one.startsWith('RCPT') && one.includes('evil'))).toEqual([])
  const { users } = server.server.oauth
  for (const email of ['a@example.com\r\nBcc: b@evil.example', 'a@example.com, b@evil.example', 'a@example.com <b@evil.example>', '"a b"@evil.example', 'a\u202E@example.com', 'a@exam\u0000ple.com'])
    await expect(server.server.oauth.mail.send({ to: email, subject: 'x', text: 'x' })).rejects.toThrow('one address')
  await expect(users.create({ username: 'two\r\nBcc: b@evil.example' })).rejects.toThrow('username')
  await expect(server.server.oauth.mail.send({ to: 'a@example.com', subject: 'x\r\nBcc: b', text: 'x' })).rejects.toThrow('one line')
}) // prettier-ignore
