/**
 * What ends with a user, with a password and with a sign-in, in all processes within two seconds: codes, refresh
 * tokens, access tokens of both kinds, sessions.
 */
import { expect, test } from 'vitest'
import { spawnBeside } from '../support/beside.ts'
import { ALIVE, codesOf, DEAD, exchangeAs, lifeOf } from '../support/code-flow.ts'
import { createClient } from '../support/clients.ts'
import { runCommand } from '../support/process.ts'
import { startServer } from '../support/server.ts'
import { toClient } from '../support/service.ts'
import {
  ALICE,
  answerOf,
  authorizationUrl,
  BOB,
  goThrough,
  SEED,
  type Tokens,
  WEB,
} from '../support/sign-in.ts'
import { createUserAgent, findForm, type UserAgent } from '../support/user-agent.ts'

const opaque = { ...WEB, client_id: 'opaque', access_token_format: 'opaque' }
const one = await startServer({}, { seed: { ...SEED, clients: [WEB, opaque] } })
const two = await spawnBeside(one.settings, one.database)
const { users } = one.server.oauth
const clients = [toClient(WEB), toClient(opaque)]
const often = { interval: 50 }

/** What one sign-in has: of each client a code on its way, and tokens; some of it with `offline_access`. */
interface Possessions {
  agent: UserAgent
  codes: string[]
  tokens: Tokens[]
  offline: Tokens[]
}

async function possess(user: { username: string; password: string }): Promise<Possessions> {
  const agent = createUserAgent(one.url)
  const getCode = async (client_id: string, scope: string): Promise<string> => {
    const page = await agent.get(authorizationUrl(one, { client_id, scope }))
    return answerOf(await goThrough(agent, page, user)).get('code')!
  }
  const each = async <T>(get: (clientId: string, index: number) => Promise<T>): Promise<T[]> => {
    const all: T[] = []
    for (const [index, { clientId }] of clients.entries()) all.push(await get(clientId, index))
    return all
  }
  const exchange = async (clientId: string, index: number, scope: string) =>
    (await exchangeAs(two, clients[index]!, await getCode(clientId, scope))).tokens
  return {
    agent,
    codes: await each(async (id) => getCode(id, 'openid')),
    tokens: await each(async (id, index) => exchange(id, index, 'openid')),
    offline: await each(async (id, index) => exchange(id, index, 'openid offline_access')),
  }
}

/** Of each token at each process; refresh tokens are used for it. */
async function livesOf(tokens: readonly Tokens[]): Promise<unknown[]> {
  const lives: unknown[] = []
  for (const server of [two, one])
    for (const [index, client] of clients.entries()) lives.push(await lifeOf(server, client, tokens[index]!))
  return lives
}

const all = (life: unknown) => Array.from({ length: 4 }, () => life)

async function isSignedIn(agent: UserAgent): Promise<boolean> {
  const page = await agent.get(authorizationUrl(one))
  return findForm(page, 'login') === undefined
}

async function assertCodesDead({ codes }: Possessions): Promise<void> {
  for (const server of [one, two])
    for (const [index, code] of codes.entries())
      expect(await exchangeAs(server, clients[index]!, code)).toMatchObject({ error: 'invalid_grant' })
}

async function newUser(username: string): Promise<{ username: string; password: string }> {
  const user = { username, password: 'correct horse battery staple' }
  await users.create(user)
  return user
}

test.each<[string, (username: string) => Promise<unknown>]>([
  ['disabled by code', async (username) => users.disable(username)],
  ['disabled by command', async (username) => runCommand(['user', 'disable', username], one.settings)],
  ['given another password', async (username) => users.setPassword(username, 'another long password')],
])('a user who is %s: everything is dead in both processes, and others keep theirs', async (how, change) => {
  const user = await newUser(how.replaceAll(' ', '-'))
  const [had, others] = [await possess(user), await possess(BOB)]
  expect(await isSignedIn(had.agent)).toBe(true)
  await change(user.username)
  await expect.poll(async () => livesOf(had.tokens), often).toEqual(all(DEAD))
  await expect.poll(async () => livesOf(had.offline), often).toEqual(all(DEAD))
  await assertCodesDead(had)
  expect(await isSignedIn(had.agent)).toBe(false)
  for (const [index, client] of clients.entries()) {
    expect(await lifeOf(two, client, others.tokens[index]!)).toEqual(ALIVE)
    expect((await exchangeAs(two, client, others.codes[index]!)).status).toBe(200)
  }
  expect(await isSignedIn(others.agent)).toBe(true)
})

test('enabled again, a user signs in anew: what was ended stays so', async () => {
  const user = await newUser('back')
  const had = await possess(user)
  await users.disable(user.username)
  await users.enable(user.username)
  await expect.poll(async () => livesOf(had.tokens), often).toEqual(all(DEAD))
  await assertCodesDead(had)
  expect(await isSignedIn(had.agent)).toBe(false)
  await expect.poll(async () => (await possess(user)).tokens.length, often).toBe(2)
})

test('sign-out ends what the sign-in gave, but for offline_access; other sign-ins of the user go on', async () => {
  const [had, beside] = [await possess(ALICE), await possess(ALICE)]
  await had.agent.get(`${one.url}/end-session?id_token_hint=${had.tokens[0]!.id_token}`)
  expect(await livesOf(had.tokens)).toEqual(all(DEAD))
  await assertCodesDead(had)
  expect(await isSignedIn(had.agent)).toBe(false)
  for (const [index, client] of clients.entries()) {
    expect(await lifeOf(two, client, had.offline[index]!)).toEqual(ALIVE)
    expect(await lifeOf(two, client, beside.tokens[index]!)).toEqual(ALIVE)
  }
  expect(await isSignedIn(beside.agent)).toBe(true)
})

test('a client that is deleted takes its codes and tokens along', async () => {
  const members = { ...WEB, client_id: 'leaving' }
  const client = await createClient(one, members)
  const getCode = codesOf(one, { client_id: 'leaving' })
  const { tokens } = await exchangeAs(one, client, await getCode())
  const code = await getCode()
  await one.server.oauth.clients.delete('leaving')
  const statuses = async () => [
    (await exchangeAs(two, client, code)).status,
    (await two.get(`/userinfo?access_token=${tokens.access_token}`)).status,
  ]
  await expect.poll(statuses, often).toEqual([401, 401])
})
