/** The passwords that everybody tries first are nobody's: refused on every way in, but for examples in SEED_FILE. */
import { describe, expect, test } from 'vitest'
import { ACCOUNT, ADMINISTRATION, type FormKind, SET_PASSWORD, SETUP } from '../security/forms.ts'
import { runCommandHere } from '../support/command-here.ts'
import { startServer, type TestServer } from '../support/server.ts'
import { SEED } from '../support/sign-in.ts'
import { createUserAgent } from '../support/user-agent.ts'

const server = await startServer({}, { seed: SEED })
const { users } = server.server.oauth
const REFUSED = /must not be one of the most used/i
const COMMON = ['password', 'Password1', '1234567890', 'iloveyou']

// In this order: the first page is there while there is no administrator.
test.each<[string, FormKind, string, Record<string, string>]>([
  ['the page of the first administrator', SETUP, 'password', {}],
  ['a link for a password', SET_PASSWORD, 'password', {}],
  ['the account', ACCOUNT.password, 'new_password', {}],
  ['the administration', ADMINISTRATION['new user'], 'password', { username: 'made-by-admin' }],
])('are refused at their field by %s', async (_where, kind, field, filled) => {
  const { agent, action, fields } = await kind.open(server)
  for (const password of COMMON) {
    const page = await agent.post(action, { ...fields, ...filled, [field]: password })
    expect([password, page.status, page.body]).toEqual([password, 400, expect.stringMatching(REFUSED)])
    expect(page.body).toMatch(/<title>Error: /)
    expect(page.body).not.toContain(`value="${password}"`)
  }
  expect(await users.find('made-by-admin')).toBeNull()
})

test('by the command line, whoever it is for', async () => {
  const { settings } = server
  const refused = { status: 1, stdout: '', stderr: 'password must not be one of the most used.\n' }
  const create = ['user', 'create', 'by-command', '--password', 'password']
  expect(await runCommandHere([...create, '--role', 'admin'], settings)).toEqual(refused)
  expect(await runCommandHere(create, settings)).toEqual(refused)
  expect(await runCommandHere(['user', 'set-password', 'alice', '--password', 'password'], settings)).toEqual(
    refused,
  )
})

test('from code; a development start takes a short one as an example, but from no administrator', async () => {
  const refused = { code: 'invalid_request', message: expect.stringMatching(REFUSED) as string }
  await expect(users.create({ username: 'by-code', password: 'PASSWORD' })).rejects.toMatchObject(refused)
  await expect(users.setPassword('alice', 'password')).rejects.toMatchObject(refused)
  await expect(users.update('bob', { password: 'football' })).rejects.toMatchObject(refused)
  await users.create({ username: 'example', password: 'dragon' })
  const root = { username: 'short-root', roles: ['admin'], password: 'dragon' }
  await expect(users.create(root)).rejects.toMatchObject(refused)
  await users.create({ ...root, password: 'a password of an administrator' })
  await expect(users.setPassword(root.username, 'dragon')).rejects.toMatchObject(refused)
})

test('others are taken, however few characters they have above the least', async () => {
  for (const password of ['correct-horse', 'a1b2c3d4e5!', 'passwоrd'])
    await users.create({ username: `with ${password}`, password })
})

describe('SEED_FILE', () => {
  const seed = {
    ...SEED,
    users: [
      { username: 'ann', password: 'password' },
      { username: 'root', password: 'Password1', roles: ['admin'] },
    ],
  }

  async function signsIn({ url }: TestServer, username: string, password: string): Promise<boolean> {
    const agent = createUserAgent(url)
    const page = await agent.submit(await agent.get(`${url}/sign-in`), 'login', { username, password })
    return page.status < 400
  }

  test('starts with them in development, warns of each, and they sign in, also after another start', async () => {
    const own = await startServer({}, { seed })
    for (const { username, password } of seed.users) {
      expect(own.output()).toMatch(new RegExp(`"user":"${username}"[^\n]*one of the most used`))
      expect(await signsIn(own, username, password)).toBe(true)
    }
    expect(own.output()).not.toContain('Password1')
    const { SECRET_KEY } = own.settings
    const again = await startServer({ SECRET_KEY }, { seed, database: own.database })
    expect(await signsIn(again, 'ann', 'password')).toBe(true)
  })

  test('in production takes them for those who are no administrators', async () => {
    const production = { NODE_ENV: 'production', OIDC_ISSUER: 'https://id.example' }
    const own = await startServer(production, { seed: { ...seed, users: [seed.users[0]] } })
    expect(own.output()).toMatch(/"user":"ann"[^\n]*one of the most used/)
    await expect(startServer(production, { seed })).rejects.toThrow(
      /users\[1\]: password must not be one of the most used\./,
    )
  })

  test('and who has one from before signs in in production too', async () => {
    const before = await startServer({}, { seed })
    const { SECRET_KEY } = before.settings
    const production = { NODE_ENV: 'production', OIDC_ISSUER: 'https://id.example', SECRET_KEY }
    const own = await startServer(production, { seed, database: before.database })
    expect(await own.server.oauth.users.authenticate('root', 'Password1')).not.toBeNull()
  })
})
