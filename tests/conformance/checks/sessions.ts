/** Who is signed in already: when that is enough, and when people have to show again that it is they. */
import { UnsecuredJWT } from 'jose'
import { expect } from 'vitest'
import { goThrough } from '../../support/sign-in.ts'
import { createUserAgent, findForm, type UserAgent } from '../../support/user-agent.ts'
import type { Check, Checks } from '../plan.ts'
import {
  accessTokensOf,
  addressOf,
  ageSession,
  authenticate,
  authenticationRequest,
  errorIn,
  finish,
  type Authenticated,
} from '../relying-party.ts'
import { CALLBACK, PERSON, SECOND, SOMEBODY_ELSE, type Suite } from '../suite.ts'

type Parameters = Record<string, string>

async function errorOf(suite: Suite, agent: UserAgent, parameters: Parameters): Promise<string> {
  const request = authenticationRequest(suite, parameters)
  return errorIn(suite, await agent.get(addressOf(suite, request)), request)
}

/** An ID token of before, of a session that has lasted ten seconds. */
async function lastingSession(suite: Suite): Promise<Authenticated> {
  const first = await authenticate(suite)
  await ageSession(suite, first, 10)
  return authenticate(suite, { max_age: '15000' }, { agent: first.agent })
}

/** No page comes: the answer is there at once, about the same sign-in. */
async function expectSilent(suite: Suite, first: Authenticated, parameters: Parameters): Promise<void> {
  const request = authenticationRequest(suite, parameters)
  const page = await first.agent.get(addressOf(suite, request))
  const { claims } = await finish(suite, page, request, { agent: first.agent })
  const { sub, auth_time, sid, acr } = first.claims
  expect(claims).toMatchObject({ sub, auth_time, sid, acr })
}

/** The login page comes although somebody is signed in, cannot be got around, and leads to a later `auth_time`. */
function asksAgain(parameters: Parameters): Check {
  return async (suite) => {
    const first = await lastingSession(suite)
    const { agent } = first
    const request = authenticationRequest(suite, parameters)
    const page = await agent.get(addressOf(suite, request))
    expect(findForm(page, 'login')).toBeDefined()
    expect(findForm(await agent.get(page.url), 'login')).toBeDefined()
    const wrong = await agent.submit(page, 'login', {
      username: PERSON.username,
      password: 'a wrong password',
    })
    expect(wrong.body).toContain('id="login-error"')
    const { claims } = await finish(suite, await goThrough(agent, wrong, PERSON), request, { agent })
    expect(claims.sub).toBe(first.claims.sub)
    expect(claims.auth_time).toBeGreaterThan(first.claims.auth_time)
    expect(Math.abs(claims.auth_time - Date.now() / 1000)).toBeLessThan(60)
  }
}

/** The same claims, signed by nobody. */
function unsigned({ claims }: Authenticated): string {
  return new UnsecuredJWT({ ...claims }).encode()
}

export const sessions = {
  'oidcc-prompt-login': async (suite) => {
    await asksAgain({ prompt: 'login' })(suite)
    const { agent } = await authenticate(suite)
    expect(await errorOf(suite, agent, { prompt: 'none login' })).toBe('invalid_request')
  },

  'oidcc-max-age-1': async (suite) => {
    await asksAgain({ max_age: '1' })(suite)
    await asksAgain({ max_age: '0' })(suite)
    const { agent } = await lastingSession(suite)
    expect(await errorOf(suite, agent, { max_age: '1', prompt: 'none' })).toBe('login_required')
    for (const max_age of ['-1', '1.5', 'one', '1e400', '٣'])
      expect(await errorOf(suite, agent, { max_age })).toBe('invalid_request')
  },

  'oidcc-max-age-10000': async (suite) => {
    const first = await lastingSession(suite)
    await expectSilent(suite, first, { max_age: '10000' })
    await ageSession(suite, first, 10_000)
    expect(await errorOf(suite, first.agent, { max_age: '10000', prompt: 'none' })).toBe('login_required')
  },

  'oidcc-prompt-none-not-logged-in': async (suite) => {
    const state = 'x~'.repeat(64)
    const agent = createUserAgent(suite.server.url)
    expect(await errorOf(suite, agent, { prompt: 'none', state })).toBe('login_required')
    expect([...agent.cookies.keys()].filter((name) => name.endsWith('session'))).toEqual([])
    // Signed in, but this client was never allowed anything.
    const { agent: known } = await authenticate(suite)
    const { clients } = suite.server.server.oauth
    const stranger = await clients.create({ redirect_uris: [CALLBACK], response_types: [suite.responseType] })
    const client_id = stranger.client_id!
    expect(await errorOf(suite, known, { prompt: 'none', client_id })).toBe('consent_required')
  },

  'oidcc-prompt-none-logged-in': async (suite) => {
    const first = await lastingSession(suite)
    await expectSilent(suite, first, { prompt: 'none' })
    await suite.server.database.query('delete from sessions where sid = $1', [first.claims.sid])
    expect(await errorOf(suite, first.agent, { prompt: 'none' })).toBe('login_required')
  },

  'oidcc-id-token-hint': async (suite) => {
    const first = await lastingSession(suite)
    const { agent, tokens } = first
    await expectSilent(suite, first, { prompt: 'none', id_token_hint: tokens.id_token })

    const otto = await authenticate(suite, {}, { user: SOMEBODY_ELSE })
    const wrongPerson = { prompt: 'none', id_token_hint: otto.tokens.id_token }
    expect(await errorOf(suite, agent, wrongPerson)).toBe('login_required')
    const elsewhere = await authenticate(suite, {}, { client: SECOND, agent })
    const none = [unsigned(first), elsewhere.tokens.id_token, ...accessTokensOf(first), 'no.jwt.']
    for (const hint of none)
      expect(await errorOf(suite, agent, { prompt: 'none', id_token_hint: hint })).toBe('invalid_request')
  },
} satisfies Checks
