/**
 * Who acts by a token of their own (RFC 8693 §2.1, `actor_token`): what is exchanged ends with that token too.
 * @needs latchkey-token-exchange
 */
import { decodeJwt } from 'jose'
import { describe, expect, test } from 'vitest'
import { kernelOf } from '../../../../src/http/kernel-of.ts'
import {
  ACCESS_TOKEN,
  BACK,
  credentials,
  DESK,
  exchange,
  EXCHANGE_SEED,
  livesAt,
  MIRROR,
  ownToken,
  ROBOT,
  SHELF,
} from '../../../support/exchange.ts'
import { startServer } from '../../../support/server.ts'
import { BOB, getTokens, type Tokens, WEB } from '../../../support/sign-in.ts'
import { createUserAgent, type UserAgent } from '../../../support/user-agent.ts' // prettier-ignore

const actors = ['web', 'robot', 'desk', 'back', 'mirror']
const rules = [
  { subject_clients: [...actors, 'desk'], resources: [SHELF], scopes: ['read_shelf'], actor_clients: actors },
]
const seed = {
  ...EXCHANGE_SEED,
  clients: EXCHANGE_SEED.clients.map((one) => ('token_exchange' in one && one !== MIRROR ? { ...one, token_exchange: rules } : one)),
} // prettier-ignore
const server = await startServer({ OIDC_INTROSPECTION_VALIDATE_AUDIENCE_SCOPE: false }, { seed })
const { clients, users } = server.server.oauth
const invalid = { status: 400, error: 'invalid_request' }

/** Whom a clerk helps. */
const { access_token: subject } = await getTokens(
  server,
  { scope: 'openid read_books' },
  createUserAgent(server.url),
)
const acting = (token: string) => ({ actor_token: token, actor_token_type: ACCESS_TOKEN })

const isActive = async (token: unknown): Promise<boolean> => livesAt(server, token)

describe('what a clerk acts by ends', () => {
  const endings: Readonly<Record<string, (had: Tokens, agent: UserAgent) => Promise<unknown>>> = {
    'when their access token is revoked': async ({ access_token: token }) =>
      server.post('/revoke', { token }, credentials(WEB)),
    'when their refresh token is revoked': async ({ refresh_token: token }) =>
      server.post('/revoke', { token }, credentials(WEB)),
    'when they sign out': async ({ id_token }, agent) =>
      agent.get(`${server.url}/end-session?id_token_hint=${id_token}`),
    'when they take the access back': async () =>
      kernelOf(server.server).consents.withdraw((await users.find('bob'))!.id, 'web'),
    'when they are disabled': async () => users.disable('bob'),
  }

  test.each(Object.entries(endings))('%s', async (_when, end) => {
    const agent = createUserAgent(server.url)
    const had = await getTokens(server, { scope: 'openid read_books' }, agent, BOB)
    const first = await exchange(server, DESK, subject, acting(had.access_token))
    expect(first).toMatchObject({ status: 200 })
    expect(decodeJwt(String(first['access_token']))['act']).toEqual({
      sub: decodeJwt(had.access_token).sub,
    })
    const second = await exchange(server, BACK, String(first['access_token']))
    const both = async () =>
      Promise.all([first, second].map(async ({ access_token: token }) => isActive(token)))
    expect(await both()).toEqual([true, true])
    await end(had, agent)
    await expect.poll(both).toEqual([false, false])
    expect(await exchange(server, DESK, subject, acting(had.access_token))).toMatchObject(invalid)
    // Whom they helped goes on.
    expect(await isActive((await exchange(server, DESK, subject))['access_token'])).toBe(true)
    await users.enable('bob')
  })
})

test('a service that acts: when its token is given back, or it is deleted, also where nobody of ours is the subject', async () => {
  const [desks, robots] = [await ownToken(server, DESK), await ownToken(server, ROBOT)]
  const ofUser = await exchange(server, DESK, subject, acting(robots))
  const ofService = await exchange(server, BACK, desks, acting(robots))
  const all = async () =>
    Promise.all([ofUser, ofService].map(async ({ access_token: token }) => isActive(token)))
  expect(await all()).toEqual([true, true])
  await server.post('/revoke', { token: robots }, credentials(ROBOT))
  await expect.poll(all).toEqual([false, false])
  const again = await exchange(server, BACK, desks, acting(await ownToken(server, ROBOT)))
  expect(await isActive(again['access_token'])).toBe(true)
  await clients.delete('robot')
  await expect.poll(async () => isActive(again['access_token'])).toBe(false)
  await clients.create(ROBOT)
})

test('no later than the token of who acts expires, and for no longer line than each is looked at', async () => {
  const robots = await ownToken(server, ROBOT)
  let token = subject
  const statuses: number[] = []
  for (let times = 0; times < 6; times++) {
    const got = await exchange(server, times === 0 ? DESK : BACK, token, acting(robots))
    statuses.push(got.status)
    if (got.status !== 200) continue
    token = String(got['access_token'])
    expect(decodeJwt(token).exp).toBeLessThanOrEqual(decodeJwt(robots).exp!)
    expect(await isActive(token)).toBe(true)
  }
  expect(statuses).toEqual([200, 200, 200, 200, 400, 400])
  // What acts was passed on itself, without saying so: all of that is behind it.
  let passed = String((await exchange(server, MIRROR, subject))['access_token'])
  for (let times = 0; times < 3; times++)
    passed = String((await exchange(server, MIRROR, passed))['access_token'])
  token = subject
  const long: number[] = []
  for (let times = 0; times < 3; times++) {
    const got = await exchange(server, times === 0 ? DESK : BACK, token, acting(passed))
    long.push(got.status)
    if (got.status === 200) token = String(got['access_token'])
  }
  expect(long).toEqual([200, 400, 400])
  expect(await isActive(token)).toBe(true)
})
