/** Somebody is called otherwise while they sign in, after they were mailed a link, and for apps: what goes on, and what is begun again. */
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { kernelOf } from '../../src/http/kernel-of.ts'
import { forgetBrowsers } from '../../src/store/endings.ts'
import { addPasskey, optionsIn, signInWith, startAtLocalhost } from '../plugins/passkeys/passkeys.ts'
import { spawnBeside } from '../support/beside.ts'
import { approve, ask, call, CIBA_SEED, CIBA_SETTINGS, poll } from '../support/ciba.ts'
import { isThere, rowsWith } from '../support/left-out.ts'
import { basic, bearer } from '../support/requests.ts'
import { addSecondFactor, CAREFUL, PIN } from '../support/second-factor.ts'
import { authorizationUrl, getTokens, goThrough, refresh, WEB, type Tokens } from '../support/sign-in.ts'
import { createUserAgent, findForm, type Page, type UserAgent } from '../support/user-agent.ts'

const settings = { ...CIBA_SETTINGS, NOTIFY_NEW_BROWSERS: 'true' }
const server = await startAtLocalhost(settings, { seed: CIBA_SEED, extend: addSecondFactor })
const beside = await spawnBeside(server.settings, server.database)
const { users, passwordLinks, passwordResets, invitations, emailLinks, sessions } = kernelOf(server.server)
const { audit } = server.server.oauth
let count = 0

async function somebody(members: object = {}) {
  const username = `person-${++count}`
  const password = 'a password of their own'
  const { id } = await users.create({
    username,
    password,
    email: `${username}@example.com`,
    email_verified: true,
    ...members,
  })
  return { id, username, password, renamed: `renamed-${count}` }
}
type Person = Awaited<ReturnType<typeof somebody>>

const rename = async ({ id, renamed }: Person): Promise<unknown> =>
  users.update({ id }, { username: renamed }, { mayRename: true })

async function signedIn({ username, password }: Pick<Person, 'username' | 'password'>, agent = browser()) {
  const page = await agent.submit(await agent.get(`${server.url}/sign-in`), 'login', { username, password })
  expect(page.status).toBe(200)
  return agent
}

let addresses = 0
const elsewhere = (): string => `203.0.${++addresses >> 8}.${addresses & 255}`
const browser = (): UserAgent => createUserAgent(server.url, { 'x-forwarded-for': elsewhere() })

const nameOn = async (agent: UserAgent): Promise<boolean> =>
  (await agent.get(`${server.url}/account/profile`)).body.includes('renamed-')

test('sessions and tokens go on, and tell the new name, in every process', async () => {
  const person = await somebody()
  const agent = await signedIn(person)
  const tokens = await getTokens(server, { scope: 'openid profile' }, agent, person)
  await rename(person)
  const claims = { sub: person.id, preferred_username: person.renamed }
  for (const { get } of [server, beside])
    await expect
      .poll(async () => (await get('/userinfo', bearer(tokens.access_token))).json())
      .toMatchObject(claims)
  const renewed = (await (await refresh(server, tokens.refresh_token)).json()) as Tokens
  const told = (token: string): unknown =>
    JSON.parse(Buffer.from(token.split('.')[1]!, 'base64url').toString())
  expect(told(renewed.id_token)).toMatchObject({ sub: person.id })
  expect(await (await server.get('/userinfo', bearer(renewed.access_token))).json()).toMatchObject(claims)
  const { client_id, client_secret } = WEB
  const introspected = await server.post(
    '/introspect',
    { token: tokens.access_token },
    basic(client_id, client_secret),
  )
  expect(await introspected.json()).toMatchObject({ sub: person.id, username: person.renamed })
  expect(await nameOn(agent)).toBe(true)
})

describe('a sign-in that is under way', () => {
  test('at its page: the former name opens nothing any more, and the new one does', async () => {
    const person = await somebody()
    const agent = browser()
    const page = await agent.get(authorizationUrl(server, { login_hint: person.username }))
    expect(findForm(page, 'login')!.fields).toMatchObject({ username: person.username })
    await rename(person)
    const refused = await agent.submit(page, 'login', { password: person.password })
    expect([refused.status, refused.body]).toEqual([403, expect.stringContaining('do not match')])
    const allowed = await agent.submit(refused, 'login', {
      username: person.renamed,
      password: person.password,
    })
    expect(findForm(allowed, 'consent')).toBeDefined()
  })

  test('before another factor is shown begins again: it was of who they were', async () => {
    const person = await somebody({ roles: [CAREFUL] })
    const agent = browser()
    const asked = await agent.submit(await agent.get(authorizationUrl(server)), 'login', person)
    expect(findForm(asked, 'pin')).toBeDefined()
    await rename(person)
    const again = await agent.submit(asked, 'pin', { pin: PIN })
    const login = findForm(again, 'login') === undefined ? await agent.get(authorizationUrl(server)) : again
    const { password, renamed: username } = person
    const anew = await agent.submit(login, 'login', { username, password })
    expect(findForm(await agent.submit(anew, 'pin', { pin: PIN }), 'consent')).toBeDefined()
  })

  test('that asks who is signed in once more shows the new name, and takes it', async () => {
    const person = await somebody()
    const agent = await signedIn(person)
    await rename(person)
    const page = await agent.get(authorizationUrl(server, { prompt: 'login' }))
    expect(findForm(page, 'login')!.fields).toMatchObject({ username: person.renamed })
    const { password } = person
    expect(findForm(await agent.submit(page, 'login', { password }), 'consent')).toBeDefined()
  })

  test('is for nobody who has taken the former name meanwhile', async () => {
    const person = await somebody()
    const agent = await signedIn(person)
    const page = await agent.get(authorizationUrl(server, { prompt: 'login' }))
    await rename(person)
    const { id } = await users.create({ username: person.username, password: 'a password of the namesake' })
    const { password } = person
    expect((await agent.submit(page, 'login', { password })).status).toBe(403)
    expect(await sessions.list(id)).toEqual([])
  })
})

describe('a browser in which they have signed in', () => {
  /** Failures from everywhere, until one more is refused. */
  async function exhaust(name: string): Promise<void> {
    const throttle = server.server.oauth.throttle('user')
    for (let failures = 0; failures < 200; failures++) {
      const attempt = await throttle.attempt(name, elsewhere()).catch(() => null)
      if (attempt === null) return
      await attempt.failed()
    }
    throw new Error('nobody was refused')
  }
  const guess = async (agent: UserAgent, username: string, password: string): Promise<Page> =>
    agent.submit(await agent.get(`${server.url}/sign-in?max_age=0`), 'login', { username, password })

  test('is known under the new name, and to nobody who comes to the former one', async () => {
    const person = await somebody()
    const agent = await signedIn(person)
    await rename(person)
    const namesake = { username: person.username, password: 'a password of the namesake' }
    await users.create(namesake)
    for (const name of [person.renamed, person.username]) await exhaust(name)
    /** In another network, which has shown nothing. */
    const moved = (): UserAgent => {
      const there = browser()
      there.cookies.set('latchkey-known', agent.cookies.get('latchkey-known')!)
      return there
    }
    const { renamed: username, password } = person
    expect((await guess(browser(), username, password)).status).toBe(429)
    expect((await guess(moved(), username, password)).status).toBe(200)
    expect((await guess(moved(), namesake.username, namesake.password)).status).toBe(429)
    const { events } = await audit.list({ user: person.id, type: 'user.signed_in' }, { limit: 9 })
    expect(events.map(({ details }) => 'newBrowser' in details)).toEqual([false, true])
  })

  test('stays a stranger where a process whose clock is behind makes strangers of all once more', async () => {
    const { database, knownBrowsers } = kernelOf(server.server)
    const person = await somebody()
    const now = Date.now()
    onTestFinished(() => void vi.useRealTimers())
    const at = (offset: number) => vi.useFakeTimers({ toFake: ['Date'], now: now + offset })
    const forget = async () => forgetBrowsers(async (...asked) => database.query(...asked), person.id)
    at(-1000)
    const mark = knownBrowsers.remember(undefined, person)
    expect(await knownBrowsers.find(mark, person)).not.toBeNull()
    // What is within the difference that clocks may have takes no earlier end back either.
    for (const offset of [0, -60_000, -5000]) {
      at(offset)
      await forget()
      expect([offset, await knownBrowsers.find(mark, person)]).toEqual([offset, null])
    }
  })

  test('of the version before, which made its mark of the name, is known until they are renamed', async () => {
    const { box, knownBrowsers } = kernelOf(server.server)
    const person = await somebody()
    const signed = `${'m'.repeat(22)}.${Date.now()}`
    const mark = `${signed}.${box.hash(`known browser\0${signed}\0${person.username}`)}`
    expect(await knownBrowsers.find(mark, person.username.toUpperCase())).toBe(signed)
    expect(await knownBrowsers.find(mark, person)).toBe(signed)
    // It is replaced, not kept beside.
    expect(knownBrowsers.remember(mark, person).split('~')).toHaveLength(1)
    await rename(person)
    expect(await knownBrowsers.find(mark, person.renamed)).toBeNull()
    expect(await knownBrowsers.find(mark, person.username)).toBeNull()
  })
})

const LINKS: Readonly<Record<string, [string, (person: Person) => Promise<string>]>> = {
  'to set a password': ['set-password', async ({ id }) => (await passwordLinks.make(id)).address],
  ...rowsWith('latchkey-forgot-password', {
    'for a forgotten password': [
      'reset-password',
      async ({ id, username }: Person) =>
        `${server.url}/reset-password?token=${await passwordResets.make(id, '', `${username}@example.com`)}`,
    ],
  }),
  ...rowsWith('latchkey-invitation', {
    'of an invitation': [
      'accept-invitation',
      async ({ id }: Person) => `${server.url}/invitation?token=${(await invitations.invite(id))!.token}`,
    ],
  }),
  'for an address': [
    'confirm',
    async ({ id, username }) =>
      `${server.url}/confirm-email?token=${await emailLinks.make(id, `${username}@new.example`)}`,
  ],
}

test.each(Object.entries(LINKS))('a link %s from before is theirs, though a namesake came', async (_what, [form, make]) => {
  const person = await somebody()
  const agent = browser()
  const page = await agent.get(await make(person))
  await rename(person)
  const namesake = await users.create({ username: person.username, password: 'a password of the namesake' })
  const done = await agent.submit(page, form, form === 'confirm' ? {} : { password: 'a password by the link' })
  expect([form, done.status]).toEqual([form, 200])
  const { username, claims } = await users.get(person.id)
  expect(username).toBe(person.renamed)
  const isDone =
    form === 'confirm'
      ? claims['email'] === `${person.username}@new.example`
      : (await users.authenticate(username, 'a password by the link'))?.id === person.id
  expect(isDone).toBe(true)
  expect(await users.get(namesake.id)).toEqual(namesake)
}) // prettier-ignore

test.runIf(isThere('latchkey-passkeys'))('a passkey from before signs in whoever it was made for, and the next one has the new name', async () => {
  const person = await somebody()
  const owner = await signedIn(person)
  const { passkey } = await addPasskey(server, owner)
  await rename(person)
  await users.create({ username: person.username, password: 'a password of the namesake' })
  const agent = browser()
  const page = await signInWith(agent, await agent.get(`${server.url}/account`), passkey)
  expect([page.status, await nameOn(agent)]).toEqual([200, true])
  const { user } = optionsIn(await owner.get(`${server.url}/account/security`), 'add-passkey-form') as unknown as { user: { name: string } }
  expect(user.name).toBe(person.renamed)
}) // prettier-ignore

test.runIf(isThere('latchkey-ciba'))('an app asks for them by the new name, and what it has asked for goes on', async () => {
  const person = await somebody()
  const asked = await ask(server, { login_hint: person.username })
  await rename(person)
  const agent = browser()
  const { renamed: username, password } = person
  await approve(server, asked, agent, { username, password })
  expect(await poll(server, asked)).toMatchObject({ status: 200, access_token: expect.any(String) as string })
  const scope = 'openid'
  expect(await call(server, { scope, login_hint: person.username })).toMatchObject({ error: 'unknown_user_id' })
  const { auth_req_id } = await ask(server, { login_hint: person.renamed })
  expect(auth_req_id).toEqual(expect.any(String))
  expect((await goThrough(agent, await agent.get(`${server.url}/account`), { username, password })).status).toBe(200)
}) // prettier-ignore
