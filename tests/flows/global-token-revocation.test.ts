/**
 * Global Token Revocation by the provider at which somebody signs in: a second Latchkey as the upstream, an app that is told, two processes, and what
 * is under way meanwhile.
 * @needs latchkey-global-token-revocation latchkey-upstreams
 */
import { randomUUID } from 'node:crypto'
import { decodeJwt } from 'jose'
import { expect, test } from 'vitest'
import { inSeconds } from '../support/client-assertions.ts'
import { ask, bySubject, ON, PATH, TYPE } from '../support/global-token-revocation.ts'
import { startReceiver } from '../support/receiver.ts'
import { bearer, type Requests } from '../support/requests.ts'
import { startBeside } from '../support/server.ts'
import type { Settings } from '../support/settings.ts'
import {
  ALICE,
  answerOf,
  authorizationUrl,
  exchange,
  refresh,
  SEED,
  type Tokens,
  WEB,
} from '../support/sign-in.ts'
import { until } from '../support/until.ts'
import {
  allow,
  answerFrom,
  startBelow,
  startUpstream,
  traveller,
  type Traveller,
} from '../support/upstreams.ts'
import { findForm } from '../support/user-agent.ts'

const app = await startReceiver((_request, response) => response.writeHead(200).end())
const clients = [{ ...WEB, backchannel_logout_uri: `http://127.0.0.1:${app.port}/logout` }]
const ANN = { username: ALICE.username, password: ALICE.password }
const settings: Settings = { ...ON }
const { server, upstreams } = await startBelow(
  async (url) => {
    const one = await startUpstream('corp', url, [ANN], { sign_up: true })
    settings['UNSAFE_OUTBOUND_ORIGINS'] = `${one.issuer},http://127.0.0.1:${app.port}`
    return [one]
  },
  settings,
  { seed: { ...SEED, users: [], clients } },
)
const beside = await startBeside(server, { UNSAFE_OUTBOUND_ORIGINS: settings['UNSAFE_OUTBOUND_ORIGINS'] })
const corp = upstreams[0]!
const there = (await corp.server.server.oauth.users.find('alice'))!.id

/** As Okta asks: by a JWT that the upstream signs by its own keys. */
async function revoke(at: Requests = server): Promise<number> {
  const claims = {
    sub: corp['client_id'],
    aud: `${server.url}${PATH}`,
    jti: randomUUID(),
    iat: inSeconds(0),
    nbf: inSeconds(-300),
    exp: inSeconds(300),
  }
  const jwt = await corp.server.server.oauth.signStatement(claims, { typ: TYPE })
  return (await ask(at, jwt, bySubject(corp.issuer, there))).status
}

/** Signs in by the upstream, to the code that the app gets. */
async function arrive(
  who: Traveller = traveller(server, corp),
  scope = 'openid offline_access',
): Promise<string> {
  const page = await who.here.get(authorizationUrl(server, { scope, prompt: 'consent' }))
  const at =
    findForm(page, 'upstreams') === undefined ? page : await who.here.get(await answerFrom(who, page, 'corp'))
  return answerOf(await allow(who.here, at)).get('code')!
}

const tokensOf = async (answer: Response): Promise<Tokens> => (await answer.json()) as Tokens
const userinfo = async (at: Requests, { access_token: token }: Tokens): Promise<number> =>
  (await at.get('/userinfo', bearer(token))).status

/** What of it is good still. */
async function livingOf(tokens: Tokens): Promise<string[]> {
  const refreshed = await refresh(server, tokens.refresh_token)
  const { error } = (await refreshed.json()) as { error?: string }
  return [
    ...((await userinfo(server, tokens)) === 401 ? [] : ['the access token']),
    ...(error === 'invalid_grant' ? [] : ['the refresh token']),
  ]
}

/** The same of what the token endpoint answered, if it gave any. */
async function livingIn(answer: Response): Promise<string[]> {
  if (answer.status === 200) return livingOf(await tokensOf(answer))
  const { error } = (await answer.json()) as { error?: string }
  return error === 'invalid_grant' ? [] : [`it was refused by ${String(error)}`]
}

test('who signed in by an upstream is out once it asks for that, at every process, and the app is told', async () => {
  const who = traveller(server, corp)
  const tokens = await tokensOf(await exchange(server, await arrive(who)))
  expect([await userinfo(server, tokens), await userinfo(beside, tokens)]).toEqual([200, 200])
  const { sub, sid } = decodeJwt(tokens.id_token)

  expect(await revoke()).toBe(204)
  expect(await livingOf(tokens)).toEqual([])
  await until(async () => expect(await userinfo(beside, tokens)).toBe(401))
  expect(new URL((await who.here.get(`${server.url}/account`)).url).pathname).not.toBe('/account')
  expect(findForm(await who.here.get(authorizationUrl(server)), 'upstreams')).toBeDefined()
  await expect.poll(() => app.received.length).toBe(1)
  const told = new URLSearchParams(app.received[0]!.body).get('logout_token')!
  expect(decodeJwt(told)).toMatchObject({ aud: 'web', sub, sid })

  // They sign in again, by the same account.
  const again = await tokensOf(await exchange(server, await arrive(who)))
  expect([decodeJwt(again.id_token).sub, await userinfo(server, again)]).toEqual([sub, 200])
})

test('a code that is exchanged meanwhile, at either process, leaves no living token', async () => {
  for (let round = 0; round < 6; round++) {
    const code = await arrive()
    const [answer, status] = await Promise.all([
      exchange(round % 2 === 0 ? server : beside, code),
      revoke(server),
    ])
    expect(status).toBe(204)
    expect(await livingIn(answer)).toEqual([])
  }
})

test('a refresh that is under way meanwhile, and two who ask at once, leave no living token either', async () => {
  for (let round = 0; round < 4; round++) {
    const first = await tokensOf(await exchange(server, await arrive()))
    const [answer, ...statuses] = await Promise.all([
      refresh(round % 2 === 0 ? server : beside, first.refresh_token),
      revoke(server),
      revoke(beside),
    ])
    expect(statuses).toEqual([204, 204])
    expect([await livingIn(answer), await livingOf(first)]).toEqual([[], []])
  }
})
