/** Initial access tokens in the administration: made, shown once, listed and ended; and who registers by them. */
import { expect, test } from 'vitest'
import { bearer } from '../../support/requests.ts'
import { kernelOf } from '../../../src/http/kernel-of.ts'
import { startServer } from '../../support/server.ts'
import { REDIRECT_URI, SEED } from '../../support/sign-in.ts'
import { createUserAgent, findForm, type Page } from '../../support/user-agent.ts'
import { age } from '../account/owner.ts'
import { ROOT, signedIn, textOf } from '../admin/administrator.ts'
import { expectSaid, PSEUDO_HEADERS } from '../languages/shown.ts'

const OTHER = { username: 'other', password: 'a password of another administrator', roles: ['admin'] }
const seed = { ...SEED, users: [...SEED.users, ROOT, OTHER] }
const server = await startServer({ OIDC_REGISTRATION: 'token' }, { seed })
const agent = await signedIn(server)
const open = async (path = ''): Promise<Page> => agent.get(`${server.url}/admin/initial-tokens${path}`)
const make = async (fields: Record<string, string>): Promise<Page> =>
  agent.submit(await open('/new'), 'initial-token', fields)

async function register(token: string): Promise<number> {
  const response = await server.request('/register', {
    method: 'POST',
    headers: { ...bearer(token), 'content-type': 'application/json' },
    body: JSON.stringify({ redirect_uris: [REDIRECT_URI] }),
  })
  return response.status
}

test('one is made, shown once and to nobody else, registers as often as it says, and is ended', async () => {
  const shown = await make({ name: 'partners', uses: '2', expires_in: '86400', scopes: 'read_books', redirect_hosts: 'app.example' }) // prettier-ignore
  const token = textOf(shown, 'initial-access-token')!
  expect([shown.status, token]).toEqual([200, expect.stringMatching(/^lki_[\w-]{43}$/)])
  expect(shown.body).toContain(`${server.url}/register`)
  expect((await agent.get(shown.url)).status).toBe(410)
  expect(await register(token)).toBe(201)
  const list = await open()
  expect(list.body).toMatch(/<code>partners<\/code>[^]*one more app, until[^]*read_books app\.example/)
  expect(list.body).not.toContain(token)
  expect(await register(token)).toBe(201)
  const usedUp = await open()
  expect(usedUp.body).toContain('It has registered all of its apps.')
  expect(usedUp.body).not.toContain('until')
  const ended = await agent.submit(list, 'delete-0', {})
  expect(ended.body).toContain('The token is ended.')
  expect([await register(token), findForm(ended, 'delete-0')]).toEqual([401, undefined])
  const types = (await server.server.oauth.audit.list({})).events.map(({ type }) => type)
  expect(types).toEqual(expect.arrayContaining(['initial_token.created', 'initial_token.deleted']))
})

test('by a form that comes twice one is made, and the second answer, which the browser keeps, shows it', async () => {
  const page = await open('/new')
  const { action, fields } = findForm(page, 'initial-token')!
  // The first answer is not followed.
  const first = await server.post(new URL(action).pathname, { ...fields, name: 'clicked' }, {
    cookie: [...agent.cookies].map((pair) => pair.join('=')).join('; '),
    origin: server.url,
  }) // prettier-ignore
  const shown = await agent.submit(page, 'initial-token', { name: 'clicked' })
  expect([first.status, shown.status]).toEqual([303, 200])
  expect(await register(textOf(shown, 'initial-access-token')!)).toBe(201)
})

test('where it is shown is good for the administrator who made it alone', async () => {
  const form = findForm(await open('/new'), 'initial-token')!
  const made = await server.post(new URL(form.action).pathname, { ...form.fields, name: 'mine' }, {
    cookie: [...agent.cookies].map((pair) => pair.join('=')).join('; '),
    origin: server.url,
  }) // prettier-ignore
  const where = new URL(made.headers.get('location')!, server.url).href
  expect((await (await signedIn(server, OTHER)).get(where)).status).toBe(410)
  expect((await agent.get(where)).status).toBe(200)
})

test('who signed in more than ten minutes ago does it once more, and what they typed stands there', async () => {
  const page = await open('/new')
  await age(server, 601)
  const asked = await agent.submit(page, 'initial-token', { name: '4711', uses: '7' })
  expect(new URL(asked.url).pathname).toBe('/sign-in')
  expect((await open()).body).not.toContain('4711')
  const back = await agent.submit(asked, 'login', { password: ROOT.password })
  expect([back.status, back.body]).toEqual([
    200,
    expect.stringContaining('<p class="notice" role="status">Nothing is saved yet'),
  ])
  expect(findForm(back, 'initial-token')!.fields).toMatchObject({ name: '4711', uses: '7' })
  expect(textOf(await agent.submit(back, 'initial-token'), 'initial-access-token')).toMatch(/^lki_/)
})

test.each([
  ['name', { name: 'two words' }, /only ASCII characters, and no spaces/, 'value="two words"'],
  ['uses', { uses: 'many' }, /integer/i, 'value="many"'],
  ['uses', { uses: '0' }, /&gt;= 1/, 'value="0"'],
  ['expires_in', { expires_in: '1' }, /&gt;= 60/, 'value="some"'],
  ['scopes', { scopes: 'a"b' }, /scope names/, 'value="a&quot;b"'],
  [
    'redirect_hosts',
    { redirect_hosts: 'https://app.example/' },
    /host names/,
    'value="https://app.example/"',
  ],
])(
  'what is wrong with %s is said at its field, and what was typed stays',
  async (field, typed, problem, kept) => {
    const page = await make({ name: 'some', uses: '1', ...typed })
    expect([page.status, textOf(page, `${field}-error`)]).toEqual([400, expect.stringMatching(problem)])
    expect(page.body).toMatch(/<title>Error: /)
    expect(page.body).toContain(kept)
  },
)

test('a name is given once', async () => {
  await make({ name: 'twice' })
  const again = await make({ name: 'twice' })
  expect([again.status, textOf(again, 'name-error')]).toEqual([400, 'Is that of another initial token.'])
})

test('its pages say all of their words by messages', async () => {
  const { initialTokens } = kernelOf(server.server)
  await initialTokens.create({ name: 'old' })
  await server.database.query(`update initial_tokens set expires_at = now() where name = 'old'`)
  const { body } = await open()
  expect(body).toMatch(
    /<code>old<\/code> <span class="tag">Expired<\/span><\/h2>\n<p class="small">It was good until </,
  )
  const reader = createUserAgent(server.url, PSEUDO_HEADERS)
  await reader.submit(await reader.get(`${server.url}/sign-in`), 'login', {
    username: ROOT.username,
    password: ROOT.password,
  })
  const at = async (path: string) => reader.get(`${server.url}/admin/initial-tokens${path}`)
  const names = ['mine', 'clicked', 'twice', 'old', 'root', 'wrong name']
  expectSaid(await at(''), names)
  const form = await at('/new')
  expectSaid(form, ['OpenID', 'OIDC_REGISTRATION_SCOPES', ...names])
  expectSaid(await reader.submit(form, 'initial-token', { name: 'wrong name' }), ['OpenID', 'OIDC_REGISTRATION_SCOPES', ...names]) // prettier-ignore
  const shown = await reader.submit(form, 'initial-token', { name: 'third' })
  expectSaid(shown, [textOf(shown, 'initial-access-token')!, server.url, 'register', 'third', ...names])
  expectSaid(await reader.get(shown.url), names)
})

test('while nobody can register it is not there', async () => {
  const off = await startServer({}, { seed })
  const home = await (await signedIn(off)).get(`${off.url}/admin`)
  expect(home.body).not.toContain('initial-tokens')
})

test.each(['scopes', 'grant_types', 'redirect_hosts'])('%s says how its list is written', async (name) => {
  expect(textOf(await open('/new'), `${name}-hint`)).toMatch(/^Separated by spaces/)
})

test('every field in which something is wrong is marked at once', async () => {
  const refused = await make({
    name: '',
    uses: 'many',
    scopes: 'a "b"',
    redirect_hosts: 'https://app.example',
  })
  for (const name of ['name', 'uses', 'scopes', 'redirect_hosts'])
    expect([name, refused.status, textOf(refused, `${name}-error`)]).toEqual([name, 400, expect.any(String)])
})
