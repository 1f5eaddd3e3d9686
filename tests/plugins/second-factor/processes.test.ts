/**
 * Two processes of one database, of which one has not heard yet what the other did: what a sign-in lacks is read anew before anybody is led
 * away for it, so that the two never send a browser to and fro.
 * @needs latchkey-second-factor
 */
import { expect, test } from 'vitest'
import { kernelOf } from '../../../src/http/kernel-of.ts'
import { asksForFactor, codeOf, recoveryCodesOn, secretOn, setUpFactor } from '../../support/authenticator.ts'
import { startBeside, startServer } from '../../support/server.ts'
import { answerOf, authorizationUrl, goThrough, SEED, WEB } from '../../support/sign-in.ts'
import { createUserAgent, findForm, type Page, type UserAgent } from '../../support/user-agent.ts'

const ROLE = 'accountant'
const server = await startServer({ OIDC_SECOND_FACTOR_ROLES: ROLE }, { seed: { ...SEED, clients: [WEB] } })
const beside = await startBeside(server)
// From here on it hears of nothing.
await kernelOf(beside.server).feed.stop()
const { users } = server.server.oauth
const HERE = server.url
const THERE = `http://127.0.0.1:${beside.settings.PORT}`
const account = `${server.url}/account`
const password = 'a long password of theirs'

/** A browser behind a balancer, which sends its requests to each of these in turn. */
function behindBalancer(...origins: readonly string[]): UserAgent {
  let turn = 0
  const through = (url: string): string => {
    const { pathname, search } = new URL(url)
    return `${origins[turn++ % origins.length]}${pathname}${search}`
  }
  return createUserAgent(server.url, {}, through)
}

/** The same browser, before others. */
function moved(agent: UserAgent, ...origins: readonly string[]): UserAgent {
  const other = behindBalancer(...origins)
  for (const [name, value] of agent.cookies) other.cookies.set(name, value)
  return other
}

const isIn = ({ body, status }: Page): boolean => status === 200 && body.includes('signed-in-as')
const signIn = async (agent: UserAgent, username: string, url = account): Promise<Page> =>
  agent.submit(await agent.get(url), 'login', { username, password })

/** Somebody new, signed in at the one process; the other knows nothing of them. */
async function newcomer(username: string) {
  await users.create({ username, password })
  const agent = behindBalancer(HERE)
  await signIn(agent, username)
  return { username, agent }
}

/** As the other knows them from here on. */
async function known(username: string) {
  const person = await newcomer(username)
  await moved(person.agent, THERE).get(account)
  return person
}

/** Who has a factor, of which the other process has not heard. */
async function withFactor(username: string) {
  const person = await known(username)
  const other = behindBalancer(HERE)
  await signIn(other, username)
  return { ...person, secret: (await setUpFactor(other, server.url)).secret }
}

/** Whose factor both processes know, until one of them takes it away. */
async function afterReset(username: string) {
  const person = await newcomer(username)
  const { secret } = await setUpFactor(person.agent, server.url)
  const there = behindBalancer(THERE)
  expect(asksForFactor(await signIn(there, username))).toBe(true)
  return { ...person, secret, there }
}

test('a factor that was set up at one is asked for in another browser, and who gives it goes on', async () => {
  const { agent, secret } = await withFactor('set-up')
  const both = moved(agent, HERE, THERE)
  const asked = await both.get(account)
  expect(asksForFactor(asked)).toBe(true)
  expect(isIn(await both.submit(asked, 'second-factor', { code: codeOf(secret) }))).toBe(true)
})

test('it is asked for at the other, too, by whom a page of the first has sent there, and by whom the password alone is given', async () => {
  const { username, agent } = await withFactor('sent-there')
  expect(asksForFactor(await moved(agent, THERE).get(`${server.url}/sign-in?return_to=/account`))).toBe(true)
  const other = (await withFactor('password-alone')).username
  expect(asksForFactor(await signIn(behindBalancer(THERE), other))).toBe(true)
  expect(asksForFactor(await signIn(behindBalancer(THERE, HERE), username))).toBe(true)
})

test('an app is given nothing by who lacks it, at the end of the pages', async () => {
  const { username } = await withFactor('for-an-app')
  const both = behindBalancer(THERE, HERE)
  expect(asksForFactor(await signIn(both, username, authorizationUrl(server)))).toBe(true)
})

test('a factor that was reset at one sends nobody away at the other', async () => {
  const { username, agent, there } = await afterReset('reset')
  await users.resetFactors((await users.find(username))!.id)
  const stay = moved(agent, THERE)
  expect(isIn(await stay.get(account))).toBe(true)
  // Nor does who has given the password, and waits.
  expect(isIn(await there.get(account))).toBe(true)
})

test('nor does an app hear from it that somebody must sign in', async () => {
  const { username, agent } = await afterReset('silent')
  await goThrough(agent, await agent.get(authorizationUrl(server)))
  await users.resetFactors((await users.find(username))!.id)
  const silent = authorizationUrl(server, { prompt: 'none' })
  const answer = answerOf(await moved(agent, THERE).get(silent))
  expect([answer.get('error'), answer.has('code')]).toEqual([null, true])
})

test('a role that asks for one, given at one, has it set up on the way, whichever process shows the page', async () => {
  const { username, agent } = await known('given-a-role')
  await users.update(username, { roles: [ROLE] })
  const both = moved(agent, HERE, THERE)
  const page = await both.get(account)
  const shown = await both.submit(page, 'totp', { code: codeOf(secretOn(page)) })
  expect(recoveryCodesOn(shown)).toHaveLength(10)
  expect(isIn(await both.submit(shown, 'recovery-codes-saved'))).toBe(true)
})

test('a role that was taken at one sends nobody away at the other', async () => {
  const { username, agent } = await newcomer('had-a-role')
  await users.update(username, { roles: [ROLE] })
  const there = moved(agent, THERE)
  expect(findForm(await there.get(account), 'totp')).toBeDefined()
  await users.update(username, { roles: [] })
  expect(isIn(await there.get(account))).toBe(true)
})

test('who has removed it at one is not sent back from setting up another at the other', async () => {
  const { agent } = await afterReset('removed')
  const page = await agent.get(`${account}/security`)
  expect((await agent.submit(page, 'remove-totp')).status).toBe(200)
  const there = moved(agent, THERE)
  const form = await there.get(`${account}/security/authenticator`)
  const again = await there.submit(form, 'totp', { code: codeOf(secretOn(form), 1) })
  expect(recoveryCodesOn(again)).toHaveLength(10)
})

test('who is made an administrator at one is not let in at the other without the factor that this demands', async () => {
  const { username, agent } = await known('promoted')
  const there = moved(agent, THERE)
  expect((await there.get(`${server.url}/admin`)).status).toBe(403)
  await users.update(username, { roles: ['admin', ROLE] })
  expect(findForm(await there.get(`${server.url}/admin`), 'totp')).toBeDefined()
})
