/** What a person chooses in their profile is the language of their pages and mails from then on, and so is their time zone. */
import { beforeEach, describe, expect, test } from 'vitest'
import { kernelOf } from '../../../src/http/kernel-of.ts'
import { openMailbox } from '../../support/mailbox.ts'
import { startServer } from '../../support/server.ts'
import { authorizationUrl, SEED, WEB } from '../../support/sign-in.ts'
import { createUserAgent, findForm, type Page, type UserAgent } from '../../support/user-agent.ts'
import { open, signedIn } from '../account/owner.ts'
import { isServed, isThere } from '../../support/left-out.ts'

const GERDA = { username: 'gerda', password: 'the password of gerda, who travels' }
const server = await startServer({}, { seed: { ...SEED, clients: [WEB] } })
const { users, accountDeletions } = kernelOf(server.server)
const mailbox = openMailbox(server)
let agent: UserAgent
/** Another one in each test: what came before is not what comes. */
let email: string

beforeEach(async () => {
  await users.delete(GERDA.username)
  email = `gerda-${crypto.randomUUID()}@example.com`
  await users.create({ ...GERDA, email, email_verified: true })
  agent = await signedIn(server, GERDA, { 'accept-language': 'en-US,en;q=0.8' })
})

const languageOf = ({ headers }: Page): string | null => headers.get('content-language')
const profile = async (): Promise<Page> => open(server, agent, '/profile')
const save = async (fields: Record<string, string>): Promise<Page> =>
  agent.submit(await profile(), 'profile', fields)
/** The languages to choose from, with the one that is chosen in brackets. */
const choicesOn = ({ body }: Page): string[] => {
  const [, options = ''] = /<select id="locale"[^>]*>([\s\S]*?)<\/select>/.exec(body) ?? []
  return [...options.matchAll(/<option value="([^"]*)"([^>]*)>([^<]*)</g)].map(
    ([, value, more, text]) => `${value}: ${more!.includes('selected') ? `[${text}]` : text}`,
  )
}

describe('a language', () => {
  test('is one of those of the server, or that of the browser', async () => {
    expect(choicesOn(await profile())).toEqual([
      ': [As my browser]',
      'en: English',
      'de: Deutsch',
      'es: Español',
    ])
  })

  test.runIf(isThere('latchkey-notices'))(
    'that is chosen is that of the account at once, of mails, and of the next sign-in',
    async () => {
      const saved = await save({ locale: 'de' })
      expect([languageOf(saved), saved.url]).toEqual(['de', `${server.url}/account/profile?saved=yes`])
      expect(saved.body).toContain('Gespeichert.')
      expect(choicesOn(saved)).toContain('de: [Deutsch]')

      await users.setPassword(GERDA.username, 'another password of gerda')
      const { text, html } = await mailbox.next(email, 'Ihr Passwort wurde geändert')
      expect([text.includes('Konto: gerda'), html!.includes('<html lang="de"')]).toEqual([true, true])
      await users.setPassword(GERDA.username, GERDA.password)

      const later = createUserAgent(server.url, { 'accept-language': 'en' })
      const login = await later.get(authorizationUrl(server, { prompt: 'consent' }))
      expect(languageOf(login)).toBe('en')
      const { username, password } = GERDA
      const consent = await later.submit(login, 'login', { username, password })
      expect([consent.body.includes('id="consent"'), languageOf(consent)]).toEqual([true, 'de'])
      // Whoever is signed in is known, also where they have to show it once more.
      const again = await later.get(authorizationUrl(server, { prompt: 'login' }))
      expect(languageOf(again)).toBe('de')
    },
  )

  test('that is taken away is that of the browser again', async () => {
    await save({ locale: 'es' })
    const saved = await save({ locale: '' })
    expect([languageOf(saved), (await users.find('gerda'))!.claims]).toEqual([
      'en',
      expect.not.objectContaining({ locale: expect.anything() as unknown }),
    ])
  })

  test.each([
    ['de_AT', 'de', 'de_AT: [Deutsch (Österreich)]'],
    ['es-419', 'es', 'es-419: [Español (Latinoamérica)]'],
    ['fr', 'en', 'fr: [Français]'],
    ['Klingon', 'en', 'Klingon: [Klingon]'],
    ['<b>', 'en', '&lt;b&gt;: [&lt;b&gt;]'],
  ])('of an import, %s, is shown in %s and kept until another one is chosen', async (locale, tag, choice) => {
    await users.update(GERDA.username, { locale })
    const page = await profile()
    expect([languageOf(page), choicesOn(page).at(-1)]).toEqual([tag, choice])
    expect((await agent.submit(page, 'profile', { nickname: 'G' })).url).toContain('saved=yes')
    expect((await users.find('gerda'))!.claims).toMatchObject({ locale, nickname: 'G' })
  })

  test('that nobody speaks here may be typed by programs, and one that is none may not', async () => {
    expect((await save({ locale: 'fr-CA' })).url).toContain('saved=yes')
    const refused = await save({ locale: 'no language' })
    expect([refused.status, refused.body.includes('id="locale-error"')]).toEqual([400, true])
    expect(choicesOn(refused).at(-1)).toBe('no language: [no language]')
  })
})

describe('a time zone', () => {
  test('is one that this server knows, by the name that it has today', async () => {
    const { body } = await profile()
    const [, options = ''] = /<datalist id="zoneinfo-options">([\s\S]*?)<\/datalist>/.exec(body) ?? []
    const zones = [...options.matchAll(/value="([^"]*)"/g)].map(([, zone]) => zone!)
    expect(body).toContain('list="zoneinfo-options"')
    expect(zones.length).toBeGreaterThan(400)
    expect(new Set(zones).size).toBe(zones.length)
    expect(zones).toEqual(
      expect.arrayContaining(['UTC', 'Europe/Berlin', 'Europe/Kyiv', 'Asia/Kolkata', 'America/New_York']),
    )
    for (const zone of zones) expect(() => new Intl.DateTimeFormat('en', { timeZone: zone })).not.toThrow()
  })

  test.runIf(isThere('latchkey-notices'))(
    'that is chosen is that of instants on pages and in mails',
    async () => {
      const saved = await save({ locale: 'de', zoneinfo: 'Asia/Tokyo' })
      expect([saved.url, findForm(saved, 'profile')!.fields['zoneinfo']]).toEqual([
        expect.stringContaining('saved=yes'),
        'Asia/Tokyo',
      ])
      const { body } = await open(server, agent, '/sessions')
      expect(body).toMatch(/<time datetime="[^"]*">\d{1,2}\. \p{L}+ \d{4} um \d\d:\d\d GMT\+9<\/time>/u)
      await users.setPassword(GERDA.username, 'another password of gerda')
      const { text } = await mailbox.next(email, 'Ihr Passwort wurde geändert')
      expect(text).toMatch(/^Wann: \d{1,2}\. \p{L}+ \d{4} um \d\d:\d\d GMT\+9$/mu)
    },
  )

  test('that an administrator stored and that there is not breaks no page and no mail', async () => {
    await users.update(GERDA.username, { zoneinfo: 'Middle/Earth' })
    const paths = ['', '/profile', '/email', '/security', '/sessions', '/apps', '/activity', '/data']
    for (const path of paths.filter((one) => isServed(`/account${one}`))) {
      const page = await open(server, agent, path)
      expect([path, page.status]).toEqual([path, 200])
    }
    const page = await profile()
    expect(findForm(page, 'profile')!.fields['zoneinfo']).toBe('Middle/Earth')
    expect((await agent.submit(page, 'profile', { nickname: 'G' })).url).toContain('saved=yes')
    if (!isThere('latchkey-notices')) return
    await users.setPassword(GERDA.username, 'another password of gerda')
    const { text } = await mailbox.next(email, 'Your password was changed')
    expect(text).toMatch(/^When: .* UTC$/m)
  })
})

describe('mails', () => {
  test('that a page causes are in the language of the browser, where none is chosen', async () => {
    const spanish = await signedIn(server, GERDA, { 'accept-language': 'es' })
    const page = await open(server, spanish, '/email')
    await spanish.submit(page, 'change-email', { email: 'new@new.example' })
    expect((await mailbox.next('new@new.example')).subject).toBe('Confirme su dirección de correo')
  })

  test('to somebody else are in theirs', async () => {
    await users.update('bob', { email_verified: true, locale: 'de' })
    const { claims } = (await users.find('bob'))!
    await agent.submit(await open(server, agent, '/email'), 'change-email', {
      email: claims['email'] as string,
    })
    expect((await mailbox.next(claims['email'] as string)).subject).toBe(
      'Jemand hat Ihre E‑Mail-Adresse als eigene angegeben',
    )
    await users.update('bob', { email_verified: false, locale: null })
  })

  test.runIf(isThere('latchkey-notices'))('of a changed address are in theirs, at both', async () => {
    await users.update(GERDA.username, { locale: 'es' })
    await users.update(GERDA.username, { email: 'new@new.example', email_verified: true })
    for (const to of [email, 'new@new.example'])
      expect((await mailbox.next(to, 'Se ha cambiado su dirección de correo')).text).toContain(
        'Cuenta: gerda',
      )
  })

  test.runIf(isThere('latchkey-notices'))(
    'to who has no account any more are still in theirs, and in their time zone',
    async () => {
      await users.update(GERDA.username, { locale: 'de_CH', zoneinfo: 'Asia/Tokyo' })
      const { id } = (await users.find(GERDA.username))!
      await accountDeletions.request(id, 0)
      await expect.poll(async () => accountDeletions.deleteDue()).toBe(1)
      const { text } = await mailbox.next(email, 'Ihr Konto ist gelöscht')
      expect(text).toMatch(/^Wann: .* GMT\+9$/m)
    },
  )
})
