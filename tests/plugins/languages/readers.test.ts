/** Who reads which language: what an app asks for, then what a person has chosen, then what their browser accepts. */
import { describe, expect, test } from 'vitest'
import { startServer } from '../../support/server.ts'
import { ALICE, authorizationUrl, BOB, goThrough, SEED, WEB } from '../../support/sign-in.ts'
import { createUserAgent, type Page } from '../../support/user-agent.ts'

const OUT = 'https://app.example/out'
const GERMAN = {
  ...BOB,
  username: 'gerda',
  email: 'gerda@example.com',
  locale: 'de-AT',
  zoneinfo: 'Europe/Vienna',
}
const ODD = { ...BOB, username: 'odd', email: 'odd@example.com', locale: 'de_CH', zoneinfo: 'Nowhere/At_All' }
const server = await startServer(
  {},
  {
    seed: {
      ...SEED,
      users: [...SEED.users, GERMAN, ODD],
      clients: [{ ...WEB, post_logout_redirect_uris: [OUT] }],
    },
  },
)

const browserOf = (accepts?: string) =>
  createUserAgent(server.url, accepts === undefined ? {} : { 'accept-language': accepts })
const languageOf = ({ headers, body }: Page): string => {
  const tag = headers.get('content-language') ?? ''
  expect(body).toContain(`<html lang="${tag}"`)
  return tag
}
const asks = (ui_locales?: string) => authorizationUrl(server, { ui_locales, prompt: 'consent' })

describe('on the way to an app', () => {
  test.each([
    ['a browser that says nothing', undefined, undefined, 'en'],
    ['a German browser', 'de-DE,de;q=0.9,en;q=0.5', undefined, 'de'],
    ['a browser of a language that is not there', 'fr-FR,fr;q=0.9', undefined, 'en'],
    ['a French browser that takes Spanish as well', 'fr, es;q=0.3', undefined, 'es'],
    ['an app that asks for Spanish', 'de', 'es', 'es'],
    ['an app that asks for French or Spanish', 'de', 'fr-CA es', 'es'],
    ['an app that asks for what is not there', 'de', 'fr zh-Hant', 'de'],
    ['an app that asks for nonsense', 'de', '../../en <b>', 'de'],
  ])('%s', async (_who, accepts, ui_locales, tag) => {
    expect(languageOf(await browserOf(accepts).get(asks(ui_locales)))).toBe(tag)
  })

  test('what an app asks for goes with the person, also to pages that are not of the request', async () => {
    const agent = browserOf('en')
    const login = await agent.get(asks('de'))
    expect(login.body).toContain('<h1>Anmelden</h1>')
    expect(languageOf(await agent.submit(login, 'login', { username: 'alice', password: 'wrong' }))).toBe(
      'de',
    )
    expect(languageOf(await agent.get(`${server.url}/forgot-password`))).toBe('de')
    expect(languageOf(await agent.get(`${server.url}/authorize?client_id=nobody`))).toBe('de')
    const consent = await agent.submit(login, 'login', {
      username: ALICE.username,
      password: ALICE.password,
    })
    expect([consent.body.includes('id="consent"'), languageOf(consent)]).toEqual([true, 'de'])
    // One's own pages are in one's own language.
    expect(languageOf(await agent.get(`${server.url}/account`))).toBe('en')
  })

  test('two apps in one browser: each page is in the language of its own request', async () => {
    const agent = browserOf('en')
    const german = await agent.get(asks('de'))
    const spanish = await agent.get(asks('es'))
    expect([languageOf(await agent.get(german.url)), languageOf(await agent.get(spanish.url))]).toEqual([
      'de',
      'es',
    ])
    expect(languageOf(await agent.submit(german, 'login', { username: 'alice', password: 'wrong' }))).toBe(
      'de',
    )
  })

  test('an answer without a page gives no cookie', async () => {
    const { headers } = await server.get(
      `/authorize?${new URL(asks('de')).searchParams.toString().replace('consent', 'none')}`,
    )
    expect(headers.getSetCookie()).toEqual([])
  })
})

describe('who is signed in', () => {
  test.each([
    ['has chosen none', ALICE, 'es', 'es'],
    ['has chosen one', GERMAN, 'es', 'de'],
    ['has one that is written otherwise', ODD, 'es', 'de'],
  ])('%s', async (_who, person, accepts, tag) => {
    const agent = browserOf(accepts)
    const consent = await agent.submit(await agent.get(asks()), 'login', {
      username: person.username,
      password: person.password,
    })
    expect([consent.body.includes('id="consent"'), languageOf(consent)]).toEqual([true, tag])
    const { url, body, ...page } = await agent.get(`${server.url}/account/sessions`)
    expect(languageOf({ url, body, ...page })).toBe(tag)
  })

  test('reads instants in their own time zone, and in that of the device where they have none', async () => {
    const pageOf = async (person: typeof BOB) => {
      const agent = browserOf()
      await goThrough(agent, await agent.get(asks()), person)
      return (await agent.get(`${server.url}/account/sessions`)).body
    }
    const own = await pageOf(GERMAN)
    expect(own).toMatch(/<time datetime="[^"]*">\d{1,2}\. \p{L}+ \d{4} um \d{2}:\d{2} ME(?:S)?Z<\/time>/u)
    expect(own).not.toContain('/assets/times')
    for (const person of [BOB, ODD]) {
      const shared = await pageOf(person)
      expect(shared).toMatch(/<time datetime="[^"]*">[^<]* UTC<\/time>/)
      expect(shared).toContain('/assets/times')
    }
  })
})

test('sign-out asks in the language that the app asks for, also when its form comes back', async () => {
  const agent = browserOf('en')
  await goThrough(agent, await agent.get(asks()), ALICE)
  const page = await agent.get(`${server.url}/end-session?ui_locales=es`)
  expect([page.body.includes('id="sign-out"'), languageOf(page)]).toEqual([true, 'es'])
  const done = await agent.submit(page, 'end-session')
  expect([done.body.includes('id="signed-out"'), languageOf(done)]).toEqual([true, 'es'])
})

test('a cookie that somebody made up chooses nothing that is not there', async () => {
  const agent = browserOf('de')
  for (const value of ['fr', '%00', '<b>', 'x'.repeat(3000), 'constructor', '__proto__']) {
    agent.cookies.set('latchkey-ui-locales', value)
    expect(languageOf(await agent.get(`${server.url}/sign-in`))).toBe('de')
  }
})

describe('hostile tags', () => {
  const TAGS = [
    '__proto__', 'constructor', 'toString', 'hasOwnProperty', '../de', '..%2fde', '/etc/passwd', 'file:///de', 'es/../de', 'es.json',
    'es-', 'es;q=1', '"es"', '<script>', 'ES\r\nSet-Cookie: a=b', 'es\tde', 'e\u0301s', '🇪🇸', '*', '-', `${'x-'.repeat(400)}es`, 'fr '.repeat(300), `fr${'-a'.repeat(16)}`,
  ] // prettier-ignore

  test.each(['/authorize', '/end-session'])('at %s choose nothing and are told to nobody', async (path) => {
    for (const tag of TAGS) {
      const uri = new URL(path === '/authorize' ? asks(tag) : `${server.url}/end-session`)
      uri.searchParams.set('ui_locales', tag)
      const agent = browserOf('de')
      const page = await agent.get(uri.href)
      expect([tag, page.status, languageOf(page), agent.cookies.has('latchkey-ui-locales')]).toEqual([tag, 200, 'de', false])
    }
  }) // prettier-ignore

  test('of a browser are passed over', async () => {
    for (const tag of TAGS.filter((one) => /^[\x20-\x7e]+$/.test(one)))
      expect(languageOf(await browserOf(`${tag}, de;q=0.1`).get(`${server.url}/sign-in`))).toMatch(/^(?:de|en|es)$/)
  }) // prettier-ignore
})

describe('the languages of a server', () => {
  test('are those that UI_LOCALES names, the first for everybody else', async () => {
    const german = await startServer({ UI_LOCALES: 'de' })
    const page = await createUserAgent(german.url, { 'accept-language': 'en,es' }).get(
      `${german.url}/sign-in`,
    )
    expect(languageOf(page)).toBe('de')
    const { ui_locales_supported } = (await (
      await german.get('/.well-known/openid-configuration')
    ).json()) as { ui_locales_supported: string[] }
    expect(ui_locales_supported).toEqual(['de'])
  })

  test('one that nobody has brought is refused at the start', async () => {
    await expect(startServer({ UI_LOCALES: 'en,fr' })).rejects.toThrow(
      'UI_LOCALES names fr, and there is no catalogue of it: there are en, de, es.',
    )
  })

  test('the pseudo-language is for development', async () => {
    expect(languageOf(await browserOf('ar-XB').get(`${server.url}/sign-in`))).toBe('ar-XB')
    const deployed = await startServer({ NODE_ENV: 'production', OIDC_ISSUER: 'https://login.example' })
    const headers = { 'accept-language': 'ar-XB', accept: 'text/html' }
    const response = await deployed.server.inject({ url: '/authorize?client_id=nobody', headers })
    expect(response.headers['content-language']).toBe('en')
  })
})
