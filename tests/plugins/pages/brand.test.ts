/** Whose service it is: a name, a picture, a colour and links of an operator's own. */
import fc from 'fast-check'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, test } from 'vitest'
import { brandColors, GROUNDS } from '../../../src/protocol/brand-colors.ts'
import { contrast } from '../../../src/protocol/colors.ts'
import { assertAccessible } from '../../support/accessibility.ts'
import { noBrowser } from '../../support/browser.ts'
import { openStillPage } from './opened.ts'
import { samples } from './samples.ts'
import { startPages } from './server.ts'

const directory = await mkdtemp(join(tmpdir(), 'latchkey-brand-'))
afterAll(async () => rm(directory, { recursive: true }))
const LOGO = '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 1 1"><path d="M0 0h1v1H0z"/></svg>'
const logo = join(directory, 'Our Logo.SVG')
await writeFile(logo, LOGO)

const LINKS = {
  BRAND_SUPPORT_URL: 'mailto:help@bookshelf.example',
  BRAND_POLICY_URL: 'https://bookshelf.example/privacy',
  BRAND_TERMS_URL: 'https://bookshelf.example/terms',
}
const server = await startPages({
  BRAND_NAME: 'Book & Shelf',
  BRAND_LOGO: logo,
  BRAND_COLOR: '#FFCC00',
  ...LINKS,
})

const color = fc
  .tuple(...([0, 1, 2] as const).map(() => fc.integer({ min: 0, max: 255 })))
  .map((channels) => `#${channels.map((value) => value.toString(16).padStart(2, '0')).join('')}`)

test('of any colour, links and buttons can be read, light and dark', () => {
  fc.assert(
    fc.property(color, (own) => {
      const colors = brandColors(own)
      for (const scheme of ['light', 'dark'] as const) {
        const { accent, button, hover, onButton } = colors[scheme]
        for (const ground of GROUNDS[scheme]) expect(contrast(accent, ground)).toBeGreaterThanOrEqual(4.5)
        for (const under of [button, hover]) expect(contrast(onButton, under)).toBeGreaterThanOrEqual(4.5)
      }
      expect(colors.light.button).toBe(own)
    }),
    { numRuns: 500 },
  )
})

test('what it is measured on is what pages have', async () => {
  const css = await readFile(new URL('../../../templates/assets/style.css', import.meta.url), 'utf8')
  const tokens = ['surface', 'ground', 'raised'].map((name) => {
    const [, light, dark] = new RegExp(`--${name}: light-dark\\((#\\w+), (#\\w+)\\)`).exec(css)!
    return [light!.replace(/^#(\w)(\w)(\w)$/, '#$1$1$2$2$3$3'), dark!]
  })
  expect(tokens).toEqual(GROUNDS.light.map((light, at) => [light, GROUNDS.dark[at]]))
})

test('every page has the name, the picture and the links, as text', async () => {
  const { body } = await server.server.inject('/')
  expect(body).toContain('<title>Home – Book &amp; Shelf</title>')
  expect(body).toContain('<h1>Book &amp; Shelf</h1>')
  expect(body).not.toContain('Latchkey')
  for (const [id, href] of Object.entries({
    'brand-support': LINKS.BRAND_SUPPORT_URL,
    'brand-policy': LINKS.BRAND_POLICY_URL,
    'brand-terms': LINKS.BRAND_TERMS_URL,
  }))
    expect(body).toContain(`<a id="${id}" href="${href}" target="_blank" rel="noopener noreferrer">`)
})

test('who signs in to the service itself reads its name', async () => {
  const { body } = await server.server.inject('/sign-in')
  expect(body).toContain('to continue to <strong><bdi>Book &amp; Shelf</bdi>')
  expect(body).not.toContain('Latchkey')
})

test('mails are from the service by its name', async () => {
  const { letters, oauth } = server.server
  const letter = { subject: 'Try', paragraphs: ['A try.'], button: null, otherwise: 'Do nothing.' }
  await letters.send('ada@example.com', letter)
  const { text, html } = oauth.mail.kept().at(-1)!
  expect(text).toContain('From Book & Shelf at ')
  expect(html).toContain('From <bdi>Book &amp; Shelf</bdi> at ')
})

test('a picture of a file comes from our own origin', async () => {
  const { body, headers } = await server.server.inject('/')
  const [, address] = /<img src="([^"]*)"/.exec(body)!
  expect(address).toMatch(/^\/assets\/brand-logo\.[0-9a-f]{12}\.svg$/)
  const picture = await server.server.inject(address!)
  expect([picture.headers['content-type'], picture.body]).toEqual(['image/svg+xml', LOGO])
  expect(headers['content-security-policy']).toContain("img-src 'self';")
})

test('a picture at an https address may be loaded from there, on each page, and nothing else may', async () => {
  const elsewhere = await startPages({ BRAND_LOGO: 'https://cdn.bookshelf.example/logo.png' })
  const plain = await elsewhere.server.inject('/sample/login/plain')
  expect(plain.body).toContain('<img src="https://cdn.bookshelf.example/logo.png"')
  expect(plain.headers['content-security-policy']).toContain("img-src 'self' https://cdn.bookshelf.example;")
  const ofClient = await elsewhere.server.inject('/sample/consent/new')
  expect(ofClient.headers['content-security-policy']).toContain(
    "img-src 'self' https://cdn.bookshelf.example https://prints.example;",
  )
  await elsewhere.close()
})

test('a colour that cannot be read as text is told at the start, with what links have in its place', () => {
  const { accent } = brandColors('#ffcc00').light
  expect(server.output()).toContain(
    `BRAND_COLOR #FFCC00 has a contrast of 1.3 on light pages, where text needs 4.5: links there are ${accent}.`,
  )
})

test.for([
  ['BRAND_COLOR', 'teal', 'BRAND_COLOR must be a colour such as #0b6b5e; it is "teal".'],
  ['BRAND_NAME', 'a\nb', 'BRAND_NAME must be a line of 60 characters at most; it is "a\\nb".'],
  [
    'BRAND_POLICY_URL',
    'javascript:alert(1)',
    'BRAND_POLICY_URL must be an https address; it is "javascript:alert(1)".',
  ],
  ['BRAND_SUPPORT_URL', 'help', 'BRAND_SUPPORT_URL must be an https or mailto address; it is "help".'],
  ['BRAND_SUPPORT_URL', 'javascript:alert(1)', 'BRAND_SUPPORT_URL must be an https or mailto address'],
  ['BRAND_SUPPORT_URL', 'mailto:', 'BRAND_SUPPORT_URL must be an https or mailto address'],
  ['BRAND_POLICY_URL', 'https:bookshelf.example/privacy', 'BRAND_POLICY_URL must be an https address'],
  ['BRAND_TERMS_URL', ' https://bookshelf.example/terms', 'BRAND_TERMS_URL must be an https address'],
  [
    'BRAND_LOGO',
    'https:cdn.example/logo.png',
    'BRAND_LOGO must be a file, or an https address that pages can load',
  ],
  ['BRAND_LOGO', 'https://cdn.example;sandbox/logo.png', 'BRAND_LOGO must be a file, or an https address'],
  ['BRAND_LOGO', 'https://[/logo.png', 'BRAND_LOGO must be a file, or an https address'],
  ['BRAND_LOGO', 'data:image/svg+xml,<svg onload="alert(1)"/>', 'BRAND_LOGO cannot be read: '],
  ['BRAND_LOGO', join(directory, 'none.svg'), 'BRAND_LOGO cannot be read: '],
  ['BRAND_LOGO', new URL(import.meta.url).pathname, 'BRAND_LOGO is no picture that pages show: '],
])('%s: %s is refused in a sentence', async ([name, value, sentence]) => {
  await expect(startPages({ [name!]: value! })).rejects.toThrow(sentence!)
})

describe.skipIf(noBrowser)('in a browser', () => {
  const shown = samples.filter(({ state }) => ['plain', 'new', 'not-theirs'].includes(state))
  test.for(shown)('$name, $state: a colour that is too light is accessible all the same', async (sample) => {
    const { page, said } = await openStillPage()
    await page.goto(server.address(sample))
    await assertAccessible(page, sample.name)
    expect(said).toEqual([])
  })

  test.each([
    ['square', '0 0 1 1', 28],
    ['wide', '0 0 4 1', 112],
    ['very wide', '0 0 40 1', 128],
  ])('a %s logo is 28 pixels high, and fits a phone', async (_shape, viewBox, width) => {
    const { page } = await openStillPage()
    const picture = LOGO.replace('0 0 1 1', viewBox)
    await page.route('**/assets/*logo*', (route) =>
      route.fulfill({ contentType: 'image/svg+xml', body: picture }),
    )
    await page.setViewportSize({ width: 320, height: 720 })
    await page.goto(server.address(shown[0]!))
    const { width: wide, height } = (await page.locator('.wordmark img').boundingBox())!
    expect([wide, height]).toEqual([width, 28])
    expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(320)
  })
})
