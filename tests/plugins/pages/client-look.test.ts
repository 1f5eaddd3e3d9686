/** A client's logo and colour, where people are on their way to it: beside another client's, and not before somebody has allowed them. */
import { randomUUID } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import type { SelfRegistration } from '../../../src/doors/self-registration.ts'
import { brandColors, GROUNDS } from '../../../src/protocol/brand-colors.ts'
import { assertAccessible } from '../../support/accessibility.ts'
import { spawnBeside } from '../../support/beside.ts'
import { complaintsOf, newBrowserContext, noBrowser } from '../../support/browser.ts'
import { runCommandHere } from '../../support/command-here.ts'
import { CAREFUL, PIN, addSecondFactor } from '../../support/second-factor.ts'
import { startServer } from '../../support/server.ts'
import { ALICE, authorizationUrl, BOB, REDIRECT_URI } from '../../support/sign-in.ts'
import { createUserAgent, type Page } from '../../support/user-agent.ts'
import { openClient, register, ROOT, signedIn } from '../admin/administrator.ts'
import { contrast } from './contrast.ts'
import { isThere } from '../../support/left-out.ts'

const LOGO = 'https://app.example/logo.png'
const clientOf = (client_id: string, more: object) => ({ client_id, redirect_uris: [REDIRECT_URI], ...more })
const CLIENTS = [
  clientOf('rose', { client_name: 'Rose', brand_color: '#B3124F', logo_uri: LOGO }),
  clientOf('sky', { client_name: 'Sky', brand_color: '#7cc4ff' }),
  clientOf('plain', {}),
]
const CARL = { username: 'carl', password: 'a third long password', roles: [CAREFUL] }
let apps: SelfRegistration
const server = await startServer(
  { OIDC_SIGN_UP: 'on', BRAND_COLOR: '#0b6b5e' },
  {
    seed: { users: [ALICE, BOB, CARL, ROOT], clients: CLIENTS },
    async extend(fastify) {
      apps = fastify.oauth.selfRegistration('apps', { most: 10 })
      await addSecondFactor(fastify)
    },
  },
)
const { clients } = server.server.oauth

const toClient = (client_id: string) => authorizationUrl(server, { client_id })
/** The sheets of a page that hold a colour: ours, or a client's. */
const colorsOf = ({ body }: Pick<Page, 'body'>): string[] =>
  [
    ...body.matchAll(
      /<link rel="stylesheet" href="[^"]*\/assets\/(?:client\/([0-9a-f]{6})|(brand))\.[^"]*">/g,
    ),
  ].map(([, color, ours]) => color ?? ours!)
const sheetOf = ({ body }: Pick<Page, 'body'>): string =>
  /href="([^"]*\/assets\/client\/[^"]*)"/.exec(body)?.[1] ?? ''
const linkOn = ({ body }: Page, id: string): string => {
  const [, href = ''] = new RegExp(`<a id="${id}" href="([^"]+)"`).exec(body)!
  return new URL(href.replaceAll('&amp;', '&'), server.url).href
}

test('two clients side by side in one browser have each its own, from page to page', async () => {
  const agent = createUserAgent(server.url)
  const [rose, sky, plain] = [
    await agent.get(toClient('rose')),
    await agent.get(toClient('sky')),
    await agent.get(toClient('plain')),
  ]
  expect([rose, sky, plain].map(colorsOf)).toEqual([['b3124f'], ['7cc4ff'], ['brand']])
  expect(rose.body).toContain(`id="client-logo" src="${LOGO}"`)
  const refused = await agent.submit(rose, 'login', { username: 'carl', password: 'wrong' })
  expect([refused.status, colorsOf(refused)]).toEqual([403, ['b3124f']])
  const factor = await agent.submit(refused, 'login', { username: 'carl', password: CARL.password })
  expect([factor.body.includes('name="pin"'), colorsOf(factor)]).toEqual([true, ['b3124f']])
  const consent = await agent.submit(factor, 'pin', { pin: PIN })
  expect([consent.body.includes('id="allow"'), colorsOf(consent)]).toEqual([true, ['b3124f']])
  expect(consent.body).toContain(`src="${LOGO}"`)
  const other = await agent.get(sky.url)
  expect([other.body.includes('id="allow"'), colorsOf(other)]).toEqual([true, ['7cc4ff']])
})

test.runIf(isThere('latchkey-sign-up', 'latchkey-forgot-password'))(
  'it stays where people make an account on the way, or ask for another password',
  async () => {
    const agent = createUserAgent(server.url)
    const page = await agent.get(toClient('rose'))
    for (const id of ['sign-up', 'forgot-password'])
      expect(colorsOf(await agent.get(linkOn(page, id)))).toEqual(['b3124f'])
    const asking = await agent.get(linkOn(page, 'sign-up'))
    const typed = { username: 'dora', email: 'dora@example.com', password: 'a long password of hers' }
    const told = await agent.submit(asking, 'sign-up', typed)
    expect([told.body.includes('id="sign-up"'), colorsOf(told)]).toEqual([false, ['b3124f']])
    const forgotten = await agent.get(linkOn(page, 'forgot-password'))
    const sent = await agent.submit(forgotten, 'forgot-password', { email: typed.email })
    expect([sent.body.includes('id="forgot-password"'), colorsOf(sent)]).toEqual([false, ['b3124f']])
    const asked = authorizationUrl(server, { client_id: 'sky', prompt: 'create' })
    expect(colorsOf(await agent.get(asked))).toEqual(['7cc4ff'])
    // Another browser is on the way to nobody.
    const stranger = createUserAgent(server.url)
    expect(colorsOf(await stranger.get(linkOn(page, 'sign-up')))).toEqual(['brand'])
  },
)

test('pages of errors, of the account and of the administration are ours', async () => {
  const agent = await signedIn(server)
  await agent.get(toClient('rose'))
  for (const path of ['/account', '/admin', '/sign-in?account=other'])
    expect(colorsOf(await agent.get(server.url + path))).toEqual(['brand'])
  const broken = await agent.get(
    authorizationUrl(server, { client_id: 'rose', redirect_uri: 'https://x.example' }),
  )
  expect([broken.status, colorsOf(broken)]).toEqual([400, ['brand']])
})

test('its sheet is of our origin, kept for good, and fits the policy', async () => {
  const page = await createUserAgent(server.url).get(toClient('rose'))
  expect(page.headers.get('content-security-policy')).toContain(`style-src 'self';`)
  const sheet = await server.get(sheetOf(page))
  const css = await sheet.text()
  expect(Object.fromEntries(sheet.headers)).toMatchObject({
    'content-type': 'text/css; charset=utf-8',
    'cache-control': 'public, max-age=31536000, immutable',
    'x-content-type-options': 'nosniff',
  })
  const { light, dark } = brandColors('#b3124f')
  expect(css).toContain(`--accent: light-dark(${light.accent}, ${dark.accent});`)
})

test.each([
  ['another directive', 'https://app.example;sandbox/logo.png'],
  ['another policy', 'https://app.example,sandbox/logo.png'],
  ['any host', 'https://*.example/logo.png'],
  ['a word of the policy', `https://'unsafe-inline'/logo.png`],
])('an address of a logo adds nothing to the policy of the page: %s', async (_what, logo_uri) => {
  const id = randomUUID()
  await clients.create({ ...clientOf(id, {}), logo_uri })
  const page = await createUserAgent(server.url).get(toClient(id))
  const plain = await createUserAgent(server.url).get(toClient('plain'))
  expect([page.status, page.body.includes('id="client-logo"')]).toEqual([200, true])
  expect(page.headers.get('content-security-policy')).toBe(plain.headers.get('content-security-policy'))
})

test.each([
  'https://[/logo.png',
  'https://app.example:99999/logo.png',
  'https://%/logo.png',
  'https://?logo',
])('%s is no address of a logo', async (logo_uri) => {
  await expect(clients.create({ ...clientOf(randomUUID(), {}), logo_uri })).rejects.toThrow(
    'logo_uri must be an absolute http or https URL',
  )
})

test.each([
  ['another colour under this tag', (address: string) => address.replace('b3124f', 'b31250')],
  ['another tag', (address: string) => address.replace(/\.(.)/, (_all, one) => (one === '0' ? '.1' : '.0'))],
  ['no colour', (address: string) => address.replace('b3124f', 'b3124g')],
  ['a colour in capitals', (address: string) => address.replace('b3124f', 'B3124F')],
  ['a shorter tag', (address: string) => address.replace(/..\.css$/, '.css')],
])('strangers make no sheets: %s', async (_what, forge) => {
  const forged = forge(sheetOf(await createUserAgent(server.url).get(toClient('rose'))))
  const answer = await server.get(forged)
  expect([answer.status, answer.headers.get('cache-control')]).toEqual([
    404,
    expect.not.stringContaining('public'),
  ])
})

test('another process serves what the page of this one names', async () => {
  const beside = await spawnBeside(server.settings, server.database)
  const address = sheetOf(await createUserAgent(server.url).get(toClient('sky')))
  const [here, there] = await Promise.all([server.get(address), beside.get(address)])
  expect([there.status, await there.text()]).toEqual([200, await here.text()])
})

test('who registered itself has no look of its own before an administrator gives it one', async () => {
  const made = await apps.create({ client_name: 'App', redirect_uris: [REDIRECT_URI], logo_uri: LOGO })
  const { client_id: id } = made
  const shown = async () => createUserAgent(server.url).get(toClient(id))
  const before = await shown()
  expect([colorsOf(before), before.body.includes(LOGO)]).toEqual([['brand'], false])
  expect(before.headers.get('content-security-policy')).not.toContain('app.example')

  await clients.update(id, { show_logo: true, brand_color: '#7cc4ff' })
  await expect.poll(async () => (await shown()).body.includes(`src="${LOGO}"`)).toBe(true)
  expect(colorsOf(await shown())).toEqual(['7cc4ff'])
  // What somebody has looked at stays as it was.
  const { client_id_issued_at: _at, client_secret: _secret, client_secret_expires_at: _end, ...said } = made
  const other = { ...said, logo_uri: 'https://app.example/other.png' }
  await expect(apps.replace(id, other)).rejects.toThrow('an administrator has taken over this registration')
})

test('an administrator may keep a logo from being shown', async () => {
  await clients.create(clientOf('modest', { logo_uri: LOGO, show_logo: false }))
  expect((await createUserAgent(server.url).get(toClient('modest'))).body).not.toContain(LOGO)
})

const PALE = '#ffcc00 has a contrast of 1.3 on light pages, where text needs 4.5: links there are #876c00.'

test('a colour that cannot be read is told of, in the log and to the administrator; one that is none is refused', async () => {
  const agent = await signedIn(server)
  const typed = { client_id: 'pale', redirect_uris: REDIRECT_URI }
  const refused = await register(server, agent, 'web', { ...typed, brand_color: 'teal' })
  expect(refused.body).toMatch(/id="brand_color-error"[^>]*>Must be a colour such as #0b6b5e\.</)
  await register(server, agent, 'web', { ...typed, brand_color: '#ffcc00', show_logo: 'false' })
  expect(await clients.find('pale')).toMatchObject({ brand_color: '#ffcc00', show_logo: false })
  expect(server.output()).toContain(`"msg":"${PALE}`)
  const { body } = await openClient(server, agent, 'pale')
  expect(body.replaceAll(/<\/?bdi>/g, '')).toContain(PALE)
  expect((await openClient(server, agent, 'rose')).body).not.toContain('has a contrast of')
  await expect(clients.create({ brand_color: 'red' })).rejects.toThrow(
    'brand_color must be a colour such as #0b6b5e',
  )
})

test('the command line knows both, and tells the same', async () => {
  const args = [
    'create',
    '--client-id',
    'by-command',
    '--brand-color',
    '#ffcc00',
    '--show-logo',
    'true',
    '--json',
  ]
  const { status, stdout, stderr } = await runCommandHere(['client', ...args], server.settings)
  expect(JSON.parse(stdout)).toMatchObject({ brand_color: '#ffcc00', show_logo: true })
  expect([status, stderr]).toEqual([0, expect.stringContaining(PALE.slice(0, -1))])
})

describe.skipIf(noBrowser)('in a browser', () => {
  test('each is accessible in its colours, light and dark, and within its policy', async () => {
    const context = await newBrowserContext()
    await context.route(LOGO, (route) =>
      route.fulfill({ contentType: 'image/svg+xml', body: '<svg xmlns="http://www.w3.org/2000/svg"/>' }),
    )
    for (const [id, color] of [
      ['rose', '#b3124f'],
      ['sky', '#7cc4ff'],
    ] as const) {
      const page = await context.newPage()
      const said = complaintsOf(page)
      const colors = brandColors(color)
      const look = async () => {
        const scheme = (await page.evaluate(`matchMedia('(prefers-color-scheme: dark)').matches`))
          ? 'dark'
          : 'light'
        const style = `getComputedStyle(document.querySelector('.primary'))`
        const [text, button] = (await page.evaluate(`[${style}.color, ${style}.backgroundColor]`)) as [
          string,
          string,
        ]
        expect(contrast(text, button)).toBeGreaterThanOrEqual(4.5)
        expect(hexOf(button)).toBe(colors[scheme].button)
        const border = (await page.evaluate(`${style}.borderTopColor`)) as string
        expect(contrast(border, rgbOf(GROUNDS[scheme][0]))).toBeGreaterThanOrEqual(3)
      }
      await page.goto(toClient(id))
      if (id === 'rose') {
        await assertAccessible(page, `sign-in, ${id}`, look)
        await page.fill('#username', BOB.username)
        await page.fill('#password', BOB.password)
        await page.click('#sign-in')
      }
      await page.waitForSelector('#allow')
      await assertAccessible(page, `consent, ${id}`, look)
      expect(said).toEqual([])
    }
  })
})

function hexOf(rgb: string): string {
  return `#${rgb.match(/\d+/g)!.map((one) => Number(one).toString(16).padStart(2, '0')).join('')}` // prettier-ignore
}

function rgbOf(hex: string): string {
  return `rgb(${[1, 3, 5].map((at) => Number.parseInt(hex.slice(at, at + 2), 16)).join(', ')})`
}
