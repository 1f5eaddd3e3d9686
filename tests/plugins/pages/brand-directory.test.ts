/** A folder of an operator's at work: its sheet, pictures, words and templates, through which people really sign in. */
import { mkdir, readdir, rename, symlink } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { REPLACEABLE } from '../../../plugins/pages/brand/samples.ts'
import { assertAccessible } from '../../support/accessibility.ts'
import { brandDirectory, templateWith } from '../../support/brand-directory.ts'
import { complaintsOf, newBrowserContext, noBrowser } from '../../support/browser.ts'
import { startServer } from '../../support/server.ts'
import { ALICE, answerOf, authorizationUrl, BOB, goThrough, SEED } from '../../support/sign-in.ts'
import { createUserAgent } from '../../support/user-agent.ts'
import { isThere } from '../../support/left-out.ts'

const PICTURE = '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 1 1"><script>alert(1)</script></svg>'
const LOGIN = `<% title(t('Sign in')) %>
<img id="poster" src="<%= site.brand.assets['poster.svg'] %>" alt="" width="64" height="64">
<h1><%= t('Welcome to {name}', { name: site.brand.name }) %></h1>
<% for (const { part: name, model: own } of model.elements) part(name, own) %>
<p class="links">
<% for (const { id, href, text } of model.links) { %><a id="<%= id %>" href="<%= link(href) %>"><%= t(text) %></a> <% } %>
</p>
<% const { client } = model %>
<% if (client.logoUri !== null) { %><img id="client-logo" src="<%= link(client.logoUri) %>" alt=""><% } %>
<% if (client.policyUri !== null) { %><a id="client-policy" href="<%= link(client.policyUri) %>"><%= t('Privacy policy') %></a><% } %>
<% if (client.tosUri !== null) { %><a id="client-tos" href="<%= link(client.tosUri) %>"><%= t('Terms of service') %></a><% } %>
`
const FRENCH = {
  'Sign in': 'Se connecter',
  Password: 'Mot de passe',
  'Welcome to {name}': 'Bienvenue chez {name}',
}
const BRAND_DIRECTORY = await brandDirectory({
  'style.css': `/* url(nothing) */ @font-face { font-family: Own; src: url("assets/own.woff2") format('woff2'); }
main { border-radius: 3px; background-image: url(assets/poster.svg); } svg { filter: url(#shade); }`,
  'assets/poster.svg': PICTURE,
  'assets/own.woff2': Buffer.from('wOF2'),
  'templates/login.eta': LOGIN,
  'templates/signed-out.eta': await templateWith('signed-out', ['You are signed out', 'Goodbye']),
  'languages/fr/pages.json': JSON.stringify(FRENCH),
  'languages/de/own.json': JSON.stringify({ 'Sign in': 'Hereinspaziert' }),
  'languages/en/own.json': JSON.stringify({ Password: 'Secret word' }),
  'languages/it/own.json': JSON.stringify({ 'Sign in': 'Accedi' }),
  'README.md': 'Ours.',
  '.git/HEAD': 'x',
  'templates/.DS_Store': 'x',
})
const server = await startServer(
  { BRAND_DIRECTORY, BRAND_NAME: 'Book & Shelf', BRAND_COLOR: '#b3124f', UI_LOCALES: 'en,de,fr' },
  { seed: SEED },
)
const loginIn = async (language: string) =>
  createUserAgent(server.url, { 'accept-language': language }).get(authorizationUrl(server))

test('the start says what is in use, and what is not', () => {
  const output = server.output()
  for (const line of [
    'BRAND_DIRECTORY: style.css; 2 assets; templates in the place of ours: login, signed-out; words in de, en, fr, it.',
    'BRAND_DIRECTORY: nothing is made of \\"README.md\\".',
    'BRAND_DIRECTORY: nobody reads languages/it before UI_LOCALES names it.',
    'BRAND_DIRECTORY: languages/fr has 1 text that no page of ours says: \\"Welcome to {name}\\".',
  ])
    expect(output).toContain(`"msg":"${line}"`)
  expect(output.match(/BRAND_DIRECTORY/g)).toHaveLength(4)
})

test('a person signs in through a page of theirs, and the app has its answer', async () => {
  const agent = createUserAgent(server.url)
  const page = await agent.get(authorizationUrl(server))
  expect(page.body).toContain('<h1>Welcome to Book &amp; Shelf</h1>')
  const refused = await agent.submit(page, 'login', { username: BOB.username, password: 'wrong' })
  expect([refused.status, refused.body]).toEqual([403, expect.stringContaining('id="login-error"')])
  expect(answerOf(await goThrough(agent, refused, BOB)).has('code')).toBe(true)
  const left = await agent.get(`${server.url}/end-session`)
  expect((await agent.submit(left, 'end-session')).body).toContain('<h1>Goodbye</h1>')
})

test('its sheet comes after ours and before colours, and loads what it names from where that is', async () => {
  const { body, headers } = await loginIn('en')
  const sheets = [...body.matchAll(/<link rel="stylesheet" href="\/assets\/(\w+)\./g)].map(([, name]) => name)
  expect(sheets).toEqual(['style', 'own', 'brand'])
  const css = await (await server.get(/href="(\/assets\/own\.[^"]*\.css)"/.exec(body)![1]!)).text()
  const [font, picture] = [
    /url\("(\/assets\/own-own\.\w+\.woff2)"\)/,
    /url\("(\/assets\/own-poster\.\w+\.svg)"\)/,
  ].map((pattern) => pattern.exec(css)![1]!)
  expect(css).toContain('url("#shade")')
  expect(css).not.toContain('nothing')
  expect(body).toContain(`src="${picture}"`)
  expect(headers.get('content-security-policy')).toContain(
    `script-src 'self'; style-src 'self'; img-src 'self'; font-src 'self'`,
  )
  const [sentFont, sentPicture] = [await server.get(font!), await server.get(picture!)]
  expect([sentFont.status, sentFont.headers.get('content-type')]).toEqual([200, 'font/woff2'])
  // Opened by itself, it runs nothing.
  expect(sentPicture.headers.get('content-security-policy')).toBe(
    `default-src 'none'; style-src 'unsafe-inline'; sandbox`,
  )
})

test.each([
  ['fr', 'fr', ['Se connecter', 'Mot de passe', 'Bienvenue chez Book &amp; Shelf', 'lang="fr"']],
  ['de', 'de', ['Hereinspaziert', 'Passwort', 'lang="de"']],
  ['en', 'en', ['Sign in', 'Secret word', 'lang="en"']],
  ['it', 'en', ['Secret word', 'lang="en"']],
])('who reads %s reads it in %s', async (asked, tag, texts) => {
  const { body, headers } = await loginIn(asked)
  expect(headers.get('content-language')).toBe(tag)
  for (const text of texts) expect(body).toContain(text)
})

test.runIf(
  isThere(
    'latchkey-second-factor',
    'latchkey-passkeys',
    'latchkey-upstreams',
    'latchkey-sign-up',
    'latchkey-forgot-password',
    'latchkey-invitation',
    'latchkey-own-data',
    'latchkey-device-code',
    'latchkey-ciba',
  ),
)('every one of ours may be copied and put in its own place', async () => {
  const files = await Promise.all(
    REPLACEABLE.map(async (name) => [`templates/${name}.eta`, await templateWith(name)]),
  )
  const own = await startServer(
    {
      BRAND_DIRECTORY: await brandDirectory(Object.fromEntries(files) as Record<string, string>),
      OIDC_SIGN_UP: 'on',
      OIDC_ISSUER: 'http://localhost:3000',
    },
    { seed: SEED },
  )
  expect(own.output()).toContain(`templates in the place of ours: ${REPLACEABLE.toSorted().join(', ')}.`)
  await own.close()
})

test.runIf(isThere('latchkey-sign-up'))('one that has the ids of before goes on', async () => {
  const source = await templateWith(
    'sign-up-confirm',
    ['id="confirm"', 'id="sign-up-confirm"'],
    ['id="confirm-link"', 'id="confirm-sign-up"'],
  )
  const directory = await brandDirectory({ 'templates/sign-up-confirm.eta': source })
  const { output } = await startServer({ BRAND_DIRECTORY: directory, OIDC_SIGN_UP: 'on' }, { seed: SEED })
  expect(output()).toContain('templates in the place of ours: sign-up-confirm')
})

test('one whose plugin is left out is shown to nobody', async () => {
  const directory = await brandDirectory({ 'templates/factor.eta': 'what it says is not looked at' })
  const own = await startServer({ BRAND_DIRECTORY: directory, WITHOUT: 'latchkey-second-factor' })
  expect(own.output()).toContain('BRAND_DIRECTORY: nothing is in it yet.')
  await own.close()
})

test('a folder as container platforms mount it, by links within', async () => {
  const directory = await brandDirectory({
    'style.css': 'main { color: red }',
    'templates/signed-out.eta': await templateWith('signed-out'),
  })
  await mkdir(join(directory, '..2026_11_25'))
  for (const name of (await readdir(directory)).filter((one) => !one.startsWith('..')))
    await rename(join(directory, name), join(directory, '..2026_11_25', name))
  await symlink('..2026_11_25', join(directory, '..data'))
  for (const name of ['brand.json', 'style.css', 'templates'])
    await symlink(join('..data', name), join(directory, name))
  const own = await startServer({ BRAND_DIRECTORY: directory })
  expect(own.output()).toContain('BRAND_DIRECTORY: style.css; templates in the place of ours: signed-out.')
  await own.close()
})

describe.skipIf(noBrowser)('in a browser', () => {
  test('a page of theirs is within the policy, and looks as their sheet says', async () => {
    const page = await (await newBrowserContext()).newPage()
    const said = complaintsOf(page)
    await page.goto(authorizationUrl(server))
    expect(await page.evaluate(`getComputedStyle(document.querySelector('main')).borderRadius`)).toBe('3px')
    expect(await page.evaluate(`document.querySelector('#poster').naturalWidth > 0`)).toBe(true)
    await assertAccessible(page, 'their sign-in page')
    await page.fill('#username', ALICE.username)
    await page.fill('#password', ALICE.password)
    await page.click('#sign-in')
    await page.waitForSelector('#allow')
    expect(said.filter((line) => !/own\.\w+\.woff2|OTS|font/i.test(line))).toEqual([])
  })
})
