/** The first administrator, by the one-time link; and the home page, where they arrive. */
import { beforeEach, expect, test } from 'vitest'
import { setupAddress } from '../../src/services/users/first-administrator.ts'
import { kernelOf } from '../../src/http/kernel-of.ts'
import { startServer, type TestServer } from '../support/server.ts'
import { createUserAgent, findForm, type UserAgent } from '../support/user-agent.ts'

const fields = { username: 'root', name: 'Root', email: '', password: 'a long enough password' }
let server: TestServer
let agent: UserAgent
let link: string

beforeEach(async () => {
  server = await startServer()
  agent = createUserAgent(server.url)
  link = setupAddress(server.url, (await kernelOf(server.server).firstAdministrator.invite())!)
})

test('the link makes an administrator, who is then signed in and sees it on the home page', async () => {
  const done = await agent.submit(await agent.get(link), 'setup', fields)
  expect([done.status, done.body]).toEqual([200, expect.stringContaining('All set')])
  expect(await server.server.oauth.users.find('root')).toMatchObject({ roles: ['admin'] })
  const home = await agent.get(`${server.url}/`)
  expect(home.body).toContain('Hello, <bdi>Root</bdi>')
  expect((await createUserAgent(server.url).get(server.url)).body).toContain('<h1>Latchkey</h1>')
})

test('the home page signs out', async () => {
  await agent.submit(await agent.get(link), 'setup', fields)
  const { body, url } = await agent.get(`${server.url}/`)
  const form = findForm({ url, body: body.replace('<form ', '<form id="out" ') }, 'out')!
  const signedOut = await agent.post(form.action, form.fields)
  expect(signedOut.body).toContain('id="signed-out"')
  expect((await agent.get(`${server.url}/`)).body).not.toContain('Hello')
})

test('opening the page spends nothing; making the account does, and voids every other link', async () => {
  const other = setupAddress(server.url, (await kernelOf(server.server).firstAdministrator.invite())!)
  const [page, again] = [await agent.get(link), await createUserAgent(server.url).get(link)]
  expect([page.status, again.status]).toEqual([200, 200])
  await agent.submit(page, 'setup', fields)
  for (const used of [link, other]) expect((await createUserAgent(server.url).get(used)).status).toBe(404)
  expect(await kernelOf(server.server).firstAdministrator.invite()).toBeNull()
})

test('a form that was open meanwhile makes nobody', async () => {
  const late = createUserAgent(server.url)
  const page = await late.get(link)
  await agent.submit(await agent.get(link), 'setup', fields)
  const refused = await late.submit(page, 'setup', { ...fields, username: 'second' })
  expect([refused.status, refused.body]).toEqual([400, expect.stringContaining('role="alert"')])
  expect(await server.server.oauth.users.find('second')).toBeNull()
})

test('of many at once, by two links, one is made', async () => {
  const other = setupAddress(server.url, (await kernelOf(server.server).firstAdministrator.invite())!)
  const agents = Array.from({ length: 8 }, () => createUserAgent(server.url))
  const pages = await Promise.all(agents.map(async (one, at) => one.get(at % 2 === 0 ? link : other)))
  const answers = await Promise.all(
    agents.map(async (one, at) => one.submit(pages[at]!, 'setup', { ...fields, username: `root${at}` })),
  )
  expect(answers.filter(({ status }) => status === 200)).toHaveLength(1)
  expect(await server.server.oauth.users.list()).toHaveLength(1)
})

test.each([
  ['a short password', { password: 'short' }, 'setup-password-error'],
  ['no user name', { username: '' }, 'setup-username-error'],
  ['a user name with a line break', { username: 'ro\not' }, 'setup-username-error'],
])('%s is named at its field, and the link stays good', async (_what, wrong, id) => {
  const refused = await agent.submit(await agent.get(link), 'setup', { ...fields, ...wrong })
  expect([refused.status, refused.body]).toEqual([400, expect.stringContaining(`id="${id}"`)])
  expect((await agent.submit(refused, 'setup', fields)).status).toBe(200)
})

test('what is wrong with it is said in sentences', async () => {
  await server.server.oauth.users.create({ username: 'taken', password: 'a long enough password' })
  const page = await agent.get(link)
  const errorOf = async (wrong: object): Promise<string[]> => {
    const { body } = await agent.submit(page, 'setup', { ...fields, ...wrong })
    return [...body.matchAll(/(?:class="problem"[^>]*|role="alert">\s*<p)>([^<]*)</g)].map(([, text]) => text!)
  }
  for (const wrong of [{ username: 'taken' }, { username: 'ro\not' }, { password: 'password' }, { token: 'x'.repeat(43) }]) {
    const said = await errorOf(wrong)
    expect(said).not.toEqual([])
    for (const sentence of said) expect(sentence).toMatch(/^\p{Lu}.*\.$/u)
  }
}) // prettier-ignore

test('a made-up link is refused, and so is a form without its token', async () => {
  expect((await agent.get(setupAddress(server.url, 'x'.repeat(43)))).status).toBe(403)
  const page = await agent.get(link)
  expect((await agent.submit(page, 'setup', { ...fields, csrf_token: 'x' })).status).toBe(403)
  // The second is what the server keeps beside the links.
  for (const token of ['x'.repeat(43), 'turn', 'turn'])
    expect((await agent.submit(page, 'setup', { ...fields, token })).status).toBe(400)
  await agent.submit(page, 'setup', { ...fields, password: 'short' })
  expect((await agent.submit(page, 'setup', { ...fields, token: 'turn' })).status).toBe(400)
  expect(await server.server.oauth.users.list()).toEqual([])
})
