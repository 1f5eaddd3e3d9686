/** One network that tries many passwords at once takes its own places where they are hashed, and nobody else's. */
import { expect, test } from 'vitest'
import { kernelOf } from '../../src/http/kernel-of.ts'
import { startServer } from '../support/server.ts'
import { HASHING_SLOWLY } from '../support/settings.ts'
import { ALICE, SEED } from '../support/sign-in.ts'
import { createUserAgent, type Page, type UserAgent } from '../support/user-agent.ts'

const server = await startServer({ TRUSTED_PROXIES: '127.0.0.1', ...HASHING_SLOWLY }, { seed: SEED })
const CHOSEN = 'a secret chosen by a person'
await server.server.oauth.clients.create({ client_id: 'service', client_secret: CHOSEN, scope: ['read'] })

interface AtForm {
  agent: UserAgent
  page: Page
}

async function openFrom(address: string): Promise<AtForm> {
  const agent = createUserAgent(server.url, { 'x-forwarded-for': address })
  return { agent, page: await agent.get(`${server.url}/sign-in`) }
}

const signIn = async ({ agent, page }: AtForm, username: string, password: string): Promise<number> =>
  agent.submit(page, 'login', { username, password }).then(({ status }) => status)

/** 110 wrong passwords at once, of as many names. */
async function rushFrom(address: string): Promise<number[]> {
  const form = await openFrom(address)
  return Promise.all(Array.from({ length: 110 }, async (_, at) => signIn(form, `name-${at}`, 'wrong')))
}

const statusesOf = (statuses: readonly number[]): number[] => [...new Set(statuses)]

/** Whoever comes now comes behind so many. */
async function untilWaiting(count: number): Promise<void> {
  const waiting = (): number => kernelOf(server.server).load().hashing.waiting
  await expect.poll(waiting, { interval: 5 }).toBeGreaterThanOrEqual(count)
}

test.each([
  ['other networks', '192.0.2.1', (at: number) => `203.0.${at}.1`],
  ['other addresses of its network', '198.51.100.1', (at: number) => `198.51.100.${at + 10}`],
  ['other IPv6 networks', '2001:db8:ffff::1', (at: number) => `2001:db8:${at}::1`],
])('110 wrong passwords at once keep nobody out who is right, at %s', async (_name, address, addressAt) => {
  const people = await Promise.all(Array.from({ length: 39 }, async (_, at) => openFrom(addressAt(at))))
  const rush = rushFrom(address)
  await untilWaiting(30)
  const right = people.map(async (one) => signIn(one, ALICE.username, ALICE.password))
  expect(statusesOf(await Promise.all(right))).toEqual([200])
  // Of the rush, some made place; and as many were checked as may be guessed at all.
  const statuses = await rush
  for (const status of statuses) expect([403, 429, 503]).toContain(status)
  expect(statuses.filter((status) => status === 403).length).toBeGreaterThanOrEqual(20)
})

test('110 wrong secrets from each of three addresses keep out no client that is elsewhere', async () => {
  const present = async (secret: string, clientId: string, address: string): Promise<number> => {
    const form = { grant_type: 'client_credentials', client_id: clientId, client_secret: secret }
    const answer = await server.post('/token', form, { 'x-forwarded-for': address })
    await answer.body?.cancel()
    return answer.status
  }
  /** Until it was checked, or there were too many. */
  const guess = async (at: number): Promise<void> => {
    while ((await present('wrong', `client-${at}`, `198.51.100.${at % 3}`)) === 503);
  }
  const rush = Array.from({ length: 330 }, async (_, at) => guess(at))
  await untilWaiting(60)
  const right = Array.from({ length: 20 }, async (_, at) => present(CHOSEN, 'service', `203.0.113.${at}`))
  expect(statusesOf(await Promise.all(right))).toEqual([200])
  await Promise.all(rush)
})
