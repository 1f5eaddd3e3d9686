/**
 * Whatever way somebody comes by who asked for their deletion, it leads to the page that keeps the account, and what was under way is dead.
 * @needs latchkey-own-data
 */
import { describe, expect, test } from 'vitest'
import { kernelOf } from '../../../src/http/kernel-of.ts'
import { allow, ask, DEVICE_SEED, DEVICE_SETTINGS, poll } from '../../support/device.ts'
import { startServer, type TestServer } from '../../support/server.ts'
import { ALICE, BOB, SEED } from '../../support/sign-in.ts'
import { answerFrom, signInBy, startBelow, startUpstream, traveller } from '../../support/upstreams.ts'
import { createUserAgent, findForm } from '../../support/user-agent.ts'
import { open } from '../account/owner.ts'
import { addPasskey, signInWith, startAtLocalhost } from '../passkeys/passkeys.ts'
import { askByPage, as, keepAccount, somebody } from './people.ts'
import { isThere } from '../../support/left-out.ts'

const CARLA = { ...ALICE, username: 'carla', email: 'carla@corp.example' }
const FELIX = { ...ALICE, username: 'felix', email: 'felix@corp.example' }
const request = async ({ server }: TestServer, id: string) =>
  kernelOf(server).accountDeletions.request(id, 86_400)

describe.runIf(isThere('latchkey-passkeys'))('a passkey', () => {
  test('of somebody without a password: they ask for it, and keep it', async () => {
    const server = await startAtLocalhost()
    const user = await somebody(server)
    const agent = await as(server, user)
    const { passkey } = await addPasskey(server, agent)
    await server.server.oauth.users.removePassword(user.id)
    expect((await askByPage(server, agent)).url).toBe(`${server.url}/account-deletion`)
    const later = createUserAgent(server.url)
    const page = await signInWith(later, await later.get(`${server.url}/sign-in?return_to=/account`), passkey)
    expect(findForm(page, 'keep-account')).toBeDefined()
    expect((await keepAccount(later, page)).url).toBe(`${server.url}/account`)
  })
})

describe.runIf(isThere('latchkey-upstreams'))('an upstream', async () => {
  const { server, upstreams } = await startBelow(async (url) => [
    await startUpstream('corp', url, [CARLA, FELIX], { domains: ['corp.example'], trust_email: true }),
  ])
  const [corp] = upstreams as [(typeof upstreams)[number]]
  const { users } = server.server.oauth

  test('of somebody who has nothing else: they ask for it, and keep it', async () => {
    const who = traveller(server, corp)
    const account = await who.here.get(`${server.url}/account`)
    await who.here.get(await answerFrom(who, account, 'corp', CARLA))
    await askByPage(server, who.here)
    const page = await signInBy(server, corp, CARLA)
    expect(findForm(page, 'keep-account')).toBeDefined()
    const { id } = (await users.find('carla'))!
    expect((await users.get(id)).deletesAt).not.toBeNull()
  })

  test('is not linked by an address, and nobody new gets that', async () => {
    const felix = await users.create({ username: 'felix', email: FELIX.email, email_verified: true })
    await request(server, felix.id)
    const page = await signInBy(server, corp, FELIX)
    expect([findForm(page, 'keep-account'), findForm(page, 'login') !== undefined]).toEqual([undefined, true])
    expect(await users.waysIn(felix.id)).toEqual([])
    expect((await users.search('felix')).found).toHaveLength(1)
    await kernelOf(server.server).accountDeletions.cancel(felix.id)
    await signInBy(server, corp, FELIX)
    expect(await users.waysIn(felix.id)).toEqual(['upstream-link'])
  })
})

test.runIf(isThere('latchkey-device-code'))(
  'a device that was allowed a moment before gets nothing',
  async () => {
    const server = await startServer(DEVICE_SETTINGS, { seed: DEVICE_SEED })
    const asked = await ask(server)
    await allow(server, asked, undefined, BOB)
    const { id } = (await server.server.oauth.users.find('bob'))!
    await request(server, id)
    const answer = await poll(server, asked)
    expect(answer.status).toBe(400)
    expect(answer).not.toHaveProperty('access_token')
  },
)

test('what was opened before a restart is over after it, and the account can be kept there', async () => {
  const first = await startServer({}, { seed: SEED })
  const user = await somebody(first)
  const agent = await as(first, user)
  const before = agent.clone()
  await askByPage(first, agent)
  await first.server.close()
  const second = await startServer(first.settings, { database: first.database })
  const late = createUserAgent(second.url)
  for (const [name, value] of before.cookies) late.cookies.set(name, value)
  expect(findForm(await open(second, late), 'login')).toBeDefined()
  const page = await late.submit(await open(second, late), 'login', {
    username: user.username,
    password: 'a password of somebody',
  })
  expect((await keepAccount(late, page)).url).toBe(`${second.url}/account`)
})
