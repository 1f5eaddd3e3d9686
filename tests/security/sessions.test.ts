/** Sessions of browsers: none can be planted, copied beyond sign-out, or kept beyond what happens to their user. */
import { decodeJwt } from 'jose'
import { describe, expect, test } from 'vitest'
import { startServer, type TestServer } from '../support/server.ts'
import {
  ALICE,
  answerOf,
  authorizationUrl,
  authorize,
  BOB,
  exchange,
  getTokens,
  goThrough,
  SEED,
} from '../support/sign-in.ts'
import { createUserAgent, type UserAgent } from '../support/user-agent.ts'
import { bearer } from '../support/requests.ts'
import { LOGIN } from './forms.ts'

const server = await startServer({}, { seed: SEED })
const SESSION = 'latchkey-session'
type Person = Pick<typeof ALICE, 'username' | 'password'>

/** Whether a browser is signed in, found out without a page. */
async function isSignedIn(agent: UserAgent, at: { url: string } = server): Promise<boolean> {
  const url = authorizationUrl(at as TestServer, { prompt: 'none' })
  const error = answerOf(await agent.get(url)).get('error')
  return error !== 'login_required'
}

function withCookie(value: string, name = SESSION): UserAgent {
  const agent = createUserAgent(server.url)
  agent.cookies.set(name, value)
  return agent
}

async function signedIn(user: Person = ALICE): Promise<UserAgent> {
  const agent = createUserAgent(server.url)
  await goThrough(agent, await agent.get(authorizationUrl(server)), user)
  expect(await isSignedIn(agent)).toBe(true)
  return agent
}

describe('S1: a cookie that somebody planted', () => {
  const plants = [
    'A'.repeat(43),
    'x',
    '',
    '__proto__',
    '%00',
    '../..',
    `${'A'.repeat(43)}.${'B'.repeat(43)}`,
    'A'.repeat(9000),
  ]
  test.each(plants)('is nobody, before the sign-in and after: %j', async (planted) => {
    const victim = withCookie(planted)
    expect(await isSignedIn(victim)).toBe(false)
    await goThrough(victim, await victim.get(authorizationUrl(server)))
    expect(await isSignedIn(victim)).toBe(true)
    expect(victim.cookies.get(SESSION)).not.toBe(planted)
    expect(await isSignedIn(withCookie(planted))).toBe(false)
  })

  test("is the attacker's own session: it ends, and never becomes the victim's", async () => {
    const attacker = await signedIn(BOB)
    const planted = attacker.cookies.get(SESSION)!
    const victim = withCookie(planted)
    const login = await LOGIN.open(server, victim)
    await goThrough(victim, await victim.post(login.action, { ...login.fields, ...ALICE_SIGNS_IN }))
    expect(victim.cookies.get(SESSION)).not.toBe(planted)
    expect([await isSignedIn(victim), await isSignedIn(attacker)]).toEqual([true, false])
  })

  test("is the victim's own, known to the attacker: the next sign-in takes it away", async () => {
    const victim = await signedIn()
    const thief = victim.clone()
    const login = await LOGIN.open(server, victim)
    await goThrough(victim, await victim.post(login.action, { ...login.fields, ...ALICE_SIGNS_IN }))
    expect(victim.cookies.get(SESSION)).not.toBe(thief.cookies.get(SESSION))
    expect([await isSignedIn(victim), await isSignedIn(thief)]).toEqual([true, false])
  })

  test('beside the real one does not sign anybody else in', async () => {
    const [alice, bob] = [await signedIn(), await signedIn(BOB)]
    const [hers, his] = [alice, bob].map((agent) => agent.cookies.get(SESSION)!)
    const url = authorizationUrl(server, { prompt: 'none' })
    const answerTo = async (cookie: string) =>
      new URL((await server.get(url, { cookie })).headers.get('location')!).searchParams
    for (const cookie of [`${SESSION}=x; ${SESSION}=${hers}`, `;;=;${SESSION}`, `${SESSION}="${hers} "`])
      expect((await answerTo(cookie)).get('error')).toBe('login_required')
    const code = (await answerTo(`${SESSION}=${hers}; ${SESSION}=${his}`)).get('code')!
    const { id_token } = (await (await exchange(server, code)).json()) as { id_token: string }
    expect(decodeJwt(id_token).sub).toBe((await server.server.oauth.users.find('alice'))!.id)
  })
})

const ALICE_SIGNS_IN = { username: ALICE.username, password: ALICE.password }

describe('what signs somebody in', () => {
  test('is not in the database, nor in the log', async () => {
    const agent = await signedIn()
    const rows = JSON.stringify(await server.database.query('select * from sessions'))
    for (const value of agent.cookies.values()) {
      expect(rows).not.toContain(value)
      expect(server.output()).not.toContain(value)
    }
  })

  test('is not its sid, which clients know', async () => {
    const agent = createUserAgent(server.url)
    await getTokens(server, {}, agent)
    const [{ sid, hash }] = (await server.database.query('select sid, hash from sessions')) as [
      Record<string, string>,
    ]
    for (const known of [sid!, hash!, Buffer.from(sid!).toString('base64url')])
      expect(await isSignedIn(withCookie(known))).toBe(false)
  })
})

describe('what ends it ends every copy', () => {
  test('signing out', async () => {
    const agent = await signedIn()
    const copies = [agent.clone(), withCookie(agent.cookies.get(SESSION)!)]
    const tokens = await getTokens(server, {}, agent)
    const page = await agent.get(`${server.url}/end-session?id_token_hint=${tokens.id_token}`)
    expect(page.body).toContain('id="signed-out"')
    expect(agent.cookies.has(SESSION)).toBe(false)
    for (const copy of copies) expect(await isSignedIn(copy)).toBe(false)
    expect((await server.get('/userinfo', bearer(tokens.access_token))).status).toBe(401)
  })

  const { users } = server.server.oauth
  const endings: [string, end: () => Promise<unknown>, undo: () => Promise<unknown>][] = [
    ['disabling the user', () => users.disable('bob'), () => users.enable('bob')],
    [
      'another password',
      () => users.setPassword('bob', 'a new one, and long'),
      () => users.setPassword('bob', BOB.password),
    ],
  ]
  test.each(endings)('%s, also when it is undone', async (_name, end, undo) => {
    const agent = await signedIn(BOB)
    const waiting = await agent.get(authorizationUrl(server, { prompt: 'consent' }))
    expect(waiting.body).toContain('id="consent"')
    await end()
    expect(await isSignedIn(agent.clone())).toBe(false)
    const late = await agent.submit(waiting, 'consent', { decision: 'allow' })
    expect([late.status, late.headers.get('location')]).toEqual([403, null])
    await undo()
    expect(await isSignedIn(agent.clone())).toBe(false)
    expect((await authorize(server, {}, await signedIn(BOB))).has('code')).toBe(true)
  })

  test('time: idle, and at most', async () => {
    for (const column of ['expires_at', 'ends_at']) {
      const agent = await signedIn()
      await server.database.query(`update sessions set ${column} = now() - interval '1 second'`)
      expect(await isSignedIn(agent)).toBe(false)
    }
  })
})

test('a disabled user cannot sign in, and is told what everybody is told', async () => {
  await server.server.oauth.users.disable('bob')
  const { agent, action, fields } = await LOGIN.open(server)
  const page = await agent.post(action, fields)
  expect([page.status, page.body.includes('That user name and password do not match.')]).toEqual([403, true])
  expect(agent.cookies.has(SESSION)).toBe(false)
  await server.server.oauth.users.enable('bob')
})
