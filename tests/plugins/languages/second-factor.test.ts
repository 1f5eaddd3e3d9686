/**
 * The pages of the second factor say all of their words by messages: on the way to an app, and on the account.
 * @needs latchkey-second-factor
 */
import { beforeEach, describe, test } from 'vitest'
import { codeOf, secretOn, setUpFactor } from '../../support/authenticator.ts'
import { startServer } from '../../support/server.ts'
import { ALICE, authorizationUrl, SEED, WEB } from '../../support/sign-in.ts'
import { createUserAgent, type Page, type UserAgent } from '../../support/user-agent.ts'
import { signedIn } from '../account/owner.ts'
import { expectSaid, PSEUDO_HEADERS } from './shown.ts'

const PART = '<section class="part" aria-labelledby="second-factor-title"'
const VAULT = { ...WEB, client_id: 'vault', minimum_acr_value: '2' }
const server = await startServer({}, { seed: { ...SEED, clients: [WEB, VAULT] } })
const { oauth } = server.server
const alice = (await oauth.users.find(ALICE.username))!.id

beforeEach(async () => {
  await oauth.users.resetFactors(alice)
  await server.database.query('delete from throttles')
})

const pathOf = (path: string): string => `${server.url}/account/security${path}`
const login = async (agent: UserAgent, at: string): Promise<Page> =>
  agent.submit(await agent.get(at), 'login', { username: ALICE.username, password: ALICE.password })

test('set up on the way to an app', async () => {
  const agent = createUserAgent(server.url, PSEUDO_HEADERS)
  const page = await login(agent, authorizationUrl(server, { client_id: 'vault' }))
  expectSaid(page)
  expectSaid(await agent.submit(page, 'totp', { code: '000' }))
  expectSaid(await agent.submit(page, 'totp', { code: codeOf(secretOn(page)) }))
})

describe('asked for', () => {
  test('a code of the app, and recovery codes; both refused, and too often', async () => {
    await setUpFactor(await signedIn(server), server.url)
    const agent = createUserAgent(server.url, PSEUDO_HEADERS)
    const page = await login(agent, pathOf(''))
    expectSaid(page)
    expectSaid(await agent.submit(page, 'second-factor', { code: '000' }))
    const other = await agent.get(`${page.url}&way=recovery`)
    expectSaid(other)
    expectSaid(await agent.submit(other, 'second-factor', { code: '000' }))
    let last = page
    for (let tries = 0; last.status !== 429; tries++) {
      if (tries > 30) throw new Error('nobody has to wait')
      last = await agent.submit(page, 'second-factor', { code: '000' })
    }
    expectSaid(last)
  })
})

test('on the account', async () => {
  const agent = await signedIn(server, ALICE, PSEUDO_HEADERS)
  expectSaid(await agent.get(pathOf('')), [], PART)
  const page = await agent.get(pathOf('/authenticator'))
  expectSaid(page)
  expectSaid(await agent.submit(page, 'totp', { code: '000' }))
  expectSaid(await agent.submit(page, 'totp', { code: codeOf(secretOn(page)) }))
  expectSaid(await agent.get(pathOf('/recovery-codes')))
  const security = await agent.get(pathOf(''))
  expectSaid(security, [], PART)
  expectSaid(await agent.submit(security, 'remove-totp'), [], PART)
})
