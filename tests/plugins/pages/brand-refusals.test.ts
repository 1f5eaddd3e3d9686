/** What a folder of an operator's must not have: the start is refused in a sentence, and nothing of it is read that lies elsewhere. */
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { readBrandDirectory } from '../../../plugins/pages/brand/directory.ts'
import { brandStyle } from '../../../plugins/pages/brand/style.ts'
import { brandDirectory, type Link, templateWith } from '../../support/brand-directory.ts'
import { temporaryDirectory } from '../../support/cleanup.ts'
import { runCommand } from '../../support/process.ts'
import { startServer } from '../../support/server.ts'
import { isThere, rowsWith } from '../../support/left-out.ts'

type Files = Readonly<Record<string, string | Buffer | Link | null>>

async function refusalBy(work: (folder: string) => Promise<unknown>, files: Files): Promise<string> {
  const error = await work(await brandDirectory(files)).then(
    () => undefined,
    (refused: Error) => refused,
  )
  return error === undefined ? 'taken' : `${error.name}: ${error.message}`
}

/** What stands in the folder is looked at before anything else. */
const refusalOf = async (files: Files) => refusalBy(readBrandDirectory, files)
const refusalAtStart = async (files: Files) =>
  refusalBy(
    async (BRAND_DIRECTORY) => (await startServer({ BRAND_DIRECTORY, OIDC_SIGN_UP: 'on' })).close(),
    files,
  )

const outside = join(await temporaryDirectory(), 'secret.eta')
await writeFile(outside, `<% title('x') %>the secret`)
const eta = (name: string, source: string): Files => ({ [`templates/${name}.eta`]: source })

describe('the folder', () => {
  test.each<[what: string, files: Files, sentence: string]>([
    ['no version', { 'brand.json': null }, 'there is no brand.json; latchkey brand init makes one'],
    ['a version that is none', { 'brand.json': '{"templates":"1"}' }, 'brand.json must say for which templates it is, such as {"templates": 1}'],
    ['no object', { 'brand.json': '1' }, 'brand.json must say for which templates it is, such as {"templates": 1}'],
    ['no JSON', { 'brand.json': '{' }, 'brand.json is no JSON'],
    ['another version', { 'brand.json': '{"templates":99}' }, 'it is for version 99 of the templates, and this server has 1; docs/brand.md says how to go on'],
    ['a script', { 'assets/menu.js': '1' }, "assets/menu.js is a script; scripts are a plugin's to add (docs/doors/pages.md)"],
    ['a page', { 'assets/page.html': '<p>' }, 'assets/page.html is no picture or font that pages load: names are of small letters, digits and hyphens, and end in .svg, .png, .webp, .jpg, .gif, .avif or .woff2'],
    ['a name with dots', { 'assets/a..b.svg': '<svg/>' }, 'assets/a..b.svg is no picture or font'],
    ['a folder among assets', { 'assets/more.svg/x': '' }, 'assets/more.svg is no file'],
    ['a file in the place of a folder', { assets: '' }, 'assets is no folder'],
    ['a large sheet', { 'style.css': ' '.repeat(600_000) }, 'style.css is larger than 512 KiB'],
    ['a huge template', eta('login', ' '.repeat(5_000_000)), 'templates/login.eta is larger than 512 KiB'],
    ['a huge picture', { 'assets/a.png': Buffer.alloc(5_000_000) }, 'assets/a.png is larger than 4096 KiB'],
    ['too many files', Object.fromEntries(Array.from({ length: 501 }, (_, at) => [`assets/a${at}.svg`, ''])), 'assets has more than 500 files'],
    ['what is no text', { 'style.css': Buffer.from([0xff, 0xfe]) }, 'style.css is no text in UTF-8'],
    ['a link that leads out', { 'templates/login.eta': { to: outside } }, 'templates/login.eta is a link that leads out of the folder'],
    ['a folder that is a link that leads out', { templates: { to: join(outside, '..') } }, 'templates is a link that leads out of the folder'],
    ['a device', { 'style.css': { to: '/dev/zero' } }, 'style.css is a link that leads out of the folder'],
    ['a link in a circle', { 'style.css': { to: 'style.css' } }, 'style.css cannot be read'],
  ])('%s', async (_what, files, sentence) => {
    expect(await refusalOf(files)).toContain(`ConfigError: BRAND_DIRECTORY: ${sentence}`)
  })

  test('one that is not there, or is a file', async () => {
    for (const BRAND_DIRECTORY of ['/nowhere/at/all', outside])
      await expect(startServer({ BRAND_DIRECTORY })).rejects.toThrow(
        `BRAND_DIRECTORY must be a folder; it is ${JSON.stringify(BRAND_DIRECTORY)}.`,
      )
  })
}) // prettier-ignore

test.each([
  ['url(https://cdn.example/a.woff2)', 'https://cdn.example/a.woff2'],
  [`url('//cdn.example/a.png')`, '//cdn.example/a.png'],
  ['url("data:image/png;base64,AA")', 'data:image/png;base64,AA'],
  ['url(assets/none.png)', 'assets/none.png'],
  ['url(assets/../brand.json)', 'assets/../brand.json'],
  ['url(/assets/style.css)', '/assets/style.css'],
])('a sheet that loads %s', async (value, url) => {
  expect(await refusalAtStart({ 'style.css': `a { background: ${value} }` })).toBe(
    `ConfigError: BRAND_DIRECTORY: style.css loads ${JSON.stringify(url)}; pages load what is in the folder's assets, as url("assets/name.woff2").`,
  )
})

test.each([
  ['image-set("https://cdn.example/a.png" 1x, url(assets/a.png) 2x)', 'https://cdn.example/a.png'],
  ["-webkit-image-set('//cdn.example/a.png' type('image/png') 1x)", '//cdn.example/a.png'],
  ['image-set(linear-gradient(red, blue) 1x, "assets/a.png" 2x)', 'assets/a.png'],
  ['cross-fade("https://cdn.example/a.png", white)', 'https://cdn.example/a.png'],
  ['src("https://cdn.example/a.png")', 'https://cdn.example/a.png'],
])('a sheet that loads by a text, as %s', async (value, url) => {
  const style = `a { background: ${value} }`
  expect(await refusalAtStart({ 'style.css': style, 'assets/a.png': 'x' })).toBe(
    `ConfigError: BRAND_DIRECTORY: style.css loads ${JSON.stringify(url)} without url(); pages load what is in the folder's assets, as url("assets/name.png").`,
  )
})

test('texts that are no addresses stay', () => {
  const css = `a { content: image-set(url(assets/a.png) type("image/png") 1x) / "a picture"; font: 1em "A Font" }`
  expect(brandStyle(css, { 'a.png': '/assets/a.1.png' })).toContain('/ "a picture"; font: 1em "A Font"')
})

test('a sheet that imports another', async () => {
  expect(await refusalAtStart({ 'style.css': '@import "x.css";' })).toContain('style.css has an @import')
})

describe('words', () => {
  test.each<[what: string, path: string, content: string, sentence: string]>([
    ['no tag', 'languages/../languages/french!/a.json', '{}', 'languages/french! is no language tag such as fr or pt-BR'],
    ['no JSON by its name', 'languages/fr/a.txt', '{}', 'languages/fr/a.txt is no .json'],
    ['no JSON', 'languages/fr/a.json', '{,}', 'languages/fr/a.json is no JSON'],
    [
      'JSON that says something twice',
      'languages/fr/a.json',
      '{"Email": "E-mail", "Email": "Courriel"}',
      'languages/fr/a.json has “Email” twice in one object: leave one of them',
    ],
    ['a list', 'languages/fr/a.json', '[]', 'languages/fr/a.json must be an object of texts by their English'],
    ['no text', 'languages/fr/a.json', '{"Sign in": 1}', 'languages/fr/a.json: "Sign in" must have a text'],
    ['no text at all', 'languages/fr/a.json', '{"Sign in": " "}', 'languages/fr/a.json: "Sign in" must have a text'],
    ['no ICU', 'languages/fr/a.json', '{"Sign in": "{"}', 'languages/fr/a.json: "Sign in" is not in ICU MessageFormat (EXPECT_ARGUMENT_CLOSING_BRACE)'],
    ['a value that is not there', 'languages/fr/a.json', '{"You are at {host}": "Ici {hote}"}', 'languages/fr/a.json: "You are at {host}" is said without {hote}'],
    ['an element that is not there', 'languages/fr/a.json', '{"Sign in": "<i>Oui</i>"}', 'languages/fr/a.json: "Sign in" is said without <i>'],
    ['a format of its own', 'languages/fr/a.json', '{"You are at {host}": "{host, date}"}', 'languages/fr/a.json: "You are at {host}" has a format that messages have not'],
  ])('%s', async (_what, path, content, sentence) => {
    expect(await refusalOf({ [path]: content })).toBe(`ConfigError: BRAND_DIRECTORY: ${sentence}.`)
  })
}) // prettier-ignore

describe('templates', () => {
  test.each<[what: string, name: string, source: string, sentence: string]>([
    ['a page that we have not', 'log-in', '', 'templates/log-in.eta stands in for none of ours; latchkey brand templates lists them'],
    ['one of the administration', 'admin-clients', '', 'templates/admin-clients.eta stands in for none of ours'],
    ['a name that every object has', 'constructor', '', 'templates/constructor.eta stands in for none of ours'],
    ['a script in a template’s place', 'password-script', '', 'templates/password-script.eta stands in for none of ours'],
    ['what does not compile', 'home', `<% title('x') %><% if ( %>`, 'templates/home.eta does not compile: '],
    ['an open tag', 'home', `<% title('x')`, 'templates/home.eta does not compile: unclosed tag at line 1'],
    ['what prints as it is', 'home', `<% title('x') %><%~ model.issuer %>`, 'templates/home.eta prints without escaping'],
    ['what prints as it is in a roundabout way', 'home', `<% title('x') %><% out\\u0070ut(model.issuer) %>`, 'templates/home.eta prints without escaping'],
    ['what prints without quotes', 'home', `<% title('x') %><p title=<%= model.issuer %>>`, 'templates/home.eta prints in an attribute without quotes'],
    ['another file by its path', 'home', `<% title('x') %><%= include('../../brand.json') %>`, `templates/home.eta reads another file; part('name', model) prints one of ours`],
    ['another layout', 'home', `<% layout('/etc/passwd') %>`, 'templates/home.eta reads another file'],
    ['a part by a path', 'home', `<% title('x') %><% part('../../secret', {}) %>`, `templates/home.eta fails: Failed to get template '../../secret.eta'`],
    ['a part by an absolute path', 'home', `<% title('x') %><% part('${outside.slice(0, -4)}', {}) %>`, 'templates/home.eta fails: Failed to get template'],
    ['what no model has', 'home', `<% title('x') %><%= model.secret %>`, 'templates/home.eta fails: home.secret is missing'],
    ['an address that runs', 'signed-out', `<% title('x') %><p id="signed-out"><a href="<%= link('javascript:alert(1)') %>">x</a>`, 'templates/signed-out.eta fails: a page links to http, https, mailto or a path only'],
    ['the same without asking', 'signed-out', `<% title('x') %><p id="signed-out"><a href="javascript:alert(1)">x</a>`, 'templates/signed-out.eta has href="…" at a <a>, which the policy of pages forbids'],
    ['a style of its own', 'signed-out', `<% title('x') %><p id="signed-out" style="color: red">`, 'templates/signed-out.eta has style="…" at a <p>, which the policy'],
    ['a handler', 'signed-out', `<% title('x') %><p id="signed-out" onclick="go()">`, 'templates/signed-out.eta has onclick="…" at a <p>'],
    ['a sheet in the page', 'signed-out', `<% title('x') %><p id="signed-out"><style>p {}</style>`, 'templates/signed-out.eta has a <style> of its own'],
    ['a script in the page', 'signed-out', `<% title('x') %><p id="signed-out"><script>go()</script>`, 'templates/signed-out.eta has a <script> of its own'],
    ['a script of another origin', 'signed-out', `<% title('x') %><p id="signed-out"><script src="//cdn.example/x.js"></script>`, 'templates/signed-out.eta has a <script> of another origin'],
    ['a page without a title', 'home', '<h1>x</h1>', `templates/home.eta must begin with <% title('…') %>`],
    ...rowsWith<[string, string, string, string][]>('latchkey-second-factor', [['a part with a title', 'factor-codes', `<% title('x') %>`, 'templates/factor-codes.eta is a part of a page, and has no title']]),
    ['an id that is gone', 'signed-out', `<% title('x') %>Bye`, 'templates/signed-out.eta has no element with the id signed-out, which others rely on'],
    ['an id in a comment', 'signed-out', `<% title('x') %><!-- <p id="signed-out"> -->`, 'templates/signed-out.eta has no element with the id signed-out'],
    ['an id that is there twice', 'signed-out', `<% title('x') %><p id="signed-out"><p id="signed-out">`, 'templates/signed-out.eta has the id signed-out twice'],
  ])('%s', async (_what, name, source, sentence) => {
    expect(await refusalAtStart(eta(name, source))).toContain(`ConfigError: BRAND_DIRECTORY: ${sentence}`)
  })

  test.each<[name: string, from: string, to: string, missing: string]>([
    ['login', `<% for (const { part: name, model: own } of elements) part(name, { ...own, quiet: marked !== undefined && marked.model !== own }) %>`, '', 'form#login with its method, action and data'],
    ['login', 'id="client-logo"', '', 'element with the id client-logo'],
    ['login', 'id="client-policy"', '', 'element with the id client-policy'],
    ['login-password', 'id="login"', '', 'form#login with its method, action and data'],
    ['login-password', 'method="post"', 'method="get"', 'form#login with its method, action and data'],
    ['login-password', '<%= model.action %>', 'https://evil.example/', 'form#login with its method, action and data'],
    ['login-password', '<input type="hidden" name="csrf_token" value="<%= model.csrfToken %>">', '', 'input[name="csrf_token"][type="hidden"] with its value in form#login'],
    ['login-password', '<%= model.csrfToken %>', '', 'input[name="csrf_token"][type="hidden"] with its value in form#login'],
    ['login-password', 'id="username"', 'id="user"', 'input#username[name="username"] in form#login'],
    ['login-password', 'name="password" type="password"', 'name="password" type="text"', 'input#password[name="password"][type="password"] in form#login'],
    ['login-password', 'id="sign-in"', '', 'button#sign-in in form#login'],
    ['login-password', 'id="login-error"', '', 'element with the id login-error'],
    ['consent', 'id="allow"', '', 'button#allow[name="decision"] in form#consent'],
    ['consent', 'value="deny"', 'value="no"', 'button#deny[name="decision"] in form#consent'],
    ['error', 'id="error-code"', '', 'element with the id error-code'],
    ['error', 'id="error"', '', 'element with the id error'],
    ['sign-out', 'id="sign-out"', '', 'button#sign-out in form#end-session'],
    ['form-post', `<script src="<%= site.assets['submit.js'] %>"></script>`, '', 'script submit.js'],
    ...rowsWith<[string, string, string, string][]>('latchkey-second-factor', [['factor', 'id="another-way"', '', 'element with the id another-way']]),
    ['layout', '<%body%>', '', 'form#confirm with its method, action and data'],
    ['layout', `id: 'signed-in-as'`, `id: 'who'`, 'element with the id signed-in-as'],
    ['layout', `<input type="hidden" name="csrf_token" value="<%= it.person.signOut.csrfToken %>">`, '', 'input[name="csrf_token"][type="hidden"] with its value in form#sign-out-form'],
    ['layout', `<script src="<%= site.assets['once.js'] %>" defer></script>`, '', 'script once.js'],
  ])('%s without %s', async (name, from, to, missing) => {
    const source = await templateWith(name, [from, to])
    const refused = await refusalAtStart(eta(name, source))
    expect(refused).toBe(`ConfigError: BRAND_DIRECTORY: templates/${name}.eta has no ${missing}, which others rely on.`)
  })
}) // prettier-ignore

describe('a consent page that keeps to itself what an app says, and who asked', () => {
  const [MESSAGE, NOTICE] = [`{ message: el('strong', { id: 'binding-message' }, model.bindingMessage) }`, '<%= rich(notice) %>']
  test.runIf(isThere('latchkey-ciba')).each<[what: string, change: [from: string, to: string], member: string]>([
    ['without its binding message', [MESSAGE, `{ message: '' }`], 'bindingMessage'],
    ['with it in a comment', [`<p class="lead"><%= rich('The app shows you this, too: {message}', ${MESSAGE}) %></p>`, '<!-- <%= model.bindingMessage %> -->'], 'bindingMessage'],
    ['with it in an attribute', [MESSAGE, `{ message: el('strong', { title: model.bindingMessage }, '') }`], 'bindingMessage'],
    ['without its notices', [NOTICE, ''], 'notices'],
  ])('%s is refused where apps ask people, and nowhere else', async (_what, change, member) => {
    const files = eta('consent', await templateWith('consent', change))
    const sentence = `ConfigError: BRAND_DIRECTORY: templates/consent.eta does not show model.${member}, which people have to read with the settings of this start.`
    const start = (settings: object) => async (BRAND_DIRECTORY: string) =>
      (await startServer({ BRAND_DIRECTORY, ...settings })).close()
    expect(await refusalBy(start({ OIDC_CIBA: true }), files)).toBe(sentence)
    expect(await refusalBy(start({}), files)).toBe('taken')
  })

  test('one that is another, and shows both, is taken', async () => {
    const files = eta('consent', await templateWith('consent', ['The app shows you this, too: {message}', 'It says {message}.']))
    expect(await refusalBy(async (BRAND_DIRECTORY) => (await startServer({ BRAND_DIRECTORY, OIDC_CIBA: true })).close(), files)).toBe('taken')
  })
}) // prettier-ignore

test('a start is refused on stderr, in the sentence alone', async () => {
  const BRAND_DIRECTORY = await brandDirectory(eta('signed-out', `<% title('x') %>Bye`))
  const { settings, close } = await startServer()
  const { status, stderr } = await runCommand(['serve'], { ...settings, BRAND_DIRECTORY, PORT: 0 })
  await close()
  expect([status, stderr]).toEqual([
    1,
    'BRAND_DIRECTORY: templates/signed-out.eta has no element with the id signed-out, which others rely on.\n',
  ])
})
