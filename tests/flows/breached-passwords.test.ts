/** Passwords that have leaked elsewhere, and short ones, by the settings for them: on every way in, but for examples in SEED_FILE. */
import { hash } from 'node:crypto'
import { beforeEach, expect, test } from 'vitest'
import { ACCOUNT, ADMINISTRATION, type FormKind, SET_PASSWORD, SETUP } from '../security/forms.ts'
import { runCommandHere } from '../support/command-here.ts'
import { startReceiver } from '../support/receiver.ts'
import { startServer } from '../support/server.ts'
import { SEED } from '../support/sign-in.ts'

const LEAKED = 'a password that leaked from somewhere'
const UNKNOWN = 'a password that nobody has leaked'
const sha1 = (password: string): string => hash('sha1', password, 'hex').toUpperCase()
const REFUSED = /must not be one that is known from a leak elsewhere/i

let fails: 'not at all' | 'by status' | 'by silence' = 'not at all'
const service = await startReceiver((_request, response) => {
  if (fails === 'by silence') return
  response.statusCode = fails === 'by status' ? 503 : 200
  const range = [`${'0'.repeat(35)}:3`, `${sha1(LEAKED).slice(5)}:42`, `${sha1(UNKNOWN).slice(5)}:0`]
  response.end(range.join('\r\n'))
})
const origin = `http://127.0.0.1:${service.port}`
const settings = { UNSAFE_OUTBOUND_ORIGINS: origin, OIDC_BREACHED_PASSWORDS: `${origin}/` }
const server = await startServer(settings, { seed: SEED })
const { users } = server.server.oauth

beforeEach(() => {
  fails = 'not at all'
  service.received.length = 0
})

// In this order: the first page is there while there is no administrator.
test.each<[string, FormKind, string, Record<string, string>]>([
  ['the page of the first administrator', SETUP, 'password', {}],
  ['a link for a password', SET_PASSWORD, 'password', {}],
  ['the account', ACCOUNT.password, 'new_password', {}],
  ['the administration', ADMINISTRATION['new user'], 'password', { username: 'made-by-admin' }],
])('are refused at their field by %s', async (_where, kind, field, filled) => {
  const { agent, action, fields } = await kind.open(server)
  service.received.length = 0
  const page = await agent.post(action, { ...fields, ...filled, [field]: LEAKED })
  expect([page.status, page.body]).toEqual([400, expect.stringMatching(REFUSED)])
  expect(service.received.map(({ url }) => url)).toEqual([`/range/${sha1(LEAKED).slice(0, 5)}`])
})

test('by the command line and from code; what has not leaked is taken, as are the lines that fill an answer up', async () => {
  const create = ['user', 'create', 'by-command', '--password', LEAKED]
  expect(await runCommandHere(create, server.settings)).toEqual({
    status: 1,
    stdout: '',
    stderr: 'password must not be one that is known from a leak elsewhere.\n',
  })
  await expect(users.setPassword('alice', LEAKED)).rejects.toMatchObject({ code: 'invalid_request', message: expect.stringMatching(REFUSED) as string }) // prettier-ignore
  await users.setPassword('alice', UNKNOWN)
  expect(await users.hasPassword('alice', UNKNOWN)).toBe(true)
})

test('no more than five characters of a hash leave, and the answer is asked to be padded', async () => {
  await users.setPassword('bob', UNKNOWN)
  expect(service.received).toMatchObject([
    { method: 'GET', url: `/range/${sha1(UNKNOWN).slice(0, 5)}`, body: '', headers: { 'add-padding': 'true' } },
  ])
  const sent = JSON.stringify(service.received)
  for (const trace of [sha1(UNKNOWN).slice(0, 6), 'bob', 'nobody has leaked']) expect(sent).not.toContain(trace)
  expect(server.output()).not.toContain(LEAKED)
}) // prettier-ignore

test.each(['by status', 'by silence'] as const)(
  'a service that fails %s keeps nobody from a password, and the log says so',
  async (how) => {
    fails = how
    const before = server.output().length
    await users.setPassword('bob', LEAKED)
    expect(await users.hasPassword('bob', LEAKED)).toBe(true)
    expect(server.output().slice(before)).toContain('could not be found out; it is taken')
  },
)

test('who signs in with one from before is not asked about, nor are examples of SEED_FILE; off is off', async () => {
  const seed = { users: [{ username: 'example', password: LEAKED }] }
  const own = await startServer(settings, { seed })
  expect(await own.server.oauth.users.authenticate('example', LEAKED)).not.toBeNull()
  const off = await startServer({ UNSAFE_OUTBOUND_ORIGINS: origin }, { seed: {} })
  await off.server.oauth.users.create({ username: 'anybody', password: LEAKED })
  expect(service.received).toEqual([])
})

test.each([
  ['ftp://example.com', 'off, on, or the base URL'],
  ['http://example.com', 'must be an https URL, or of an origin in UNSAFE_OUTBOUND_ORIGINS'],
  ['yes', 'off, on, or the base URL'],
])('OIDC_BREACHED_PASSWORDS=%s ends the start', async (value, words) => {
  await expect(startServer({ OIDC_BREACHED_PASSWORDS: value })).rejects.toThrow(words)
})

test('the least length is a setting: pages say it, every way in asks for it, and for nothing else', async () => {
  const production = { NODE_ENV: 'production', OIDC_ISSUER: 'https://id.example' }
  const strict = await startServer({ ...production, OIDC_PASSWORD_MIN_LENGTH: 12 }, { seed: {} })
  const { users: theirs } = strict.server.oauth
  await expect(theirs.create({ username: 'ann', password: 'eleven-char' })).rejects.toThrow('must have 12 characters at least') // prettier-ignore
  await theirs.create({ username: 'ann', password: 'twelve-chars' })
  await theirs.create({ username: 'ben', password: 'aaaaaaaaaaab' })
  const development = await startServer({ OIDC_PASSWORD_MIN_LENGTH: 12 }, { seed: SEED })
  const { agent, action, fields } = await ACCOUNT.password.open(development)
  const page = await agent.post(action, { ...fields, new_password: 'eleven-char' })
  expect([page.status, page.body]).toEqual([
    400,
    expect.stringContaining('This is too short: choose at least 12 characters.'),
  ])
  expect(page.body).toContain('minlength="12"')
  const set = await SET_PASSWORD.open(development)
  const refused = await set.agent.post(set.action, { ...set.fields, password: 'eleven-char' })
  expect([refused.status, refused.body]).toEqual([400, expect.stringContaining('Must have 12 characters at least.')]) // prettier-ignore
  await expect(startServer({ OIDC_PASSWORD_MIN_LENGTH: 7 })).rejects.toThrow(
    'OIDC_PASSWORD_MIN_LENGTH must be',
  )
})
