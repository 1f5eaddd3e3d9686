/** seed-spec.md §4.1: GET /authorize, row by row of its table, and what comes of it. */
import { describe, expect, test } from 'vitest'
import { ALICE, answerOf, authorizationUrl, goThrough } from '../support/sign-in.ts'
import { createUserAgent, findForm } from '../support/user-agent.ts'
import { request, startSeedServer } from './server.ts'

const server = await startSeedServer()

async function open(parameters: Record<string, string | undefined> = {}) {
  return createUserAgent(server.url).get(authorizationUrl(server, { ...request, ...parameters }))
}

/** Nobody has allowed it anything yet. */
async function signInToNewApp() {
  const { client_id } = await server.server.oauth.clients.create({ redirect_uri: request.redirect_uri })
  const agent = createUserAgent(server.url)
  const login = await agent.get(authorizationUrl(server, { ...request, client_id }))
  const { username, password } = ALICE
  return { agent, consent: await agent.submit(login, 'login', { username, password }) }
}

describe('§4.1 GET /authorize', () => {
  test('starts login and consent in a browser', async () => {
    const login = await open()
    expect([login.status, login.headers.get('content-type')]).toEqual([200, 'text/html; charset=utf-8'])
    expect(findForm(login, 'login')).toBeDefined()
    const { consent } = await signInToNewApp()
    expect(findForm(consent, 'consent')).toBeDefined()
  })

  test.each(['client_id', 'redirect_uri'])(
    '%s is required: without it, a page and no redirect',
    async (name) => {
      const page = await open({ [name]: undefined })
      expect([page.status, page.headers.get('location')]).toEqual([400, null])
      expect(page.body).toContain(name)
    },
  )

  test('client_id: a registered client', async () => {
    const page = await open({ client_id: 'nobody' })
    expect([page.status, page.headers.get('location')]).toEqual([400, null])
  })

  test.each(['https://rp.example/callback/', 'https://rp.example/', 'https://evil.example/callback'])(
    "redirect_uri must match the client's registered one: %s does not",
    async (redirect_uri) => {
      const page = await open({ redirect_uri })
      expect([page.status, page.headers.get('location')]).toEqual([400, null])
    },
  )

  test.each([
    ['response_type', undefined, 'invalid_request'],
    ['response_type', 'token', 'unsupported_response_type'],
    ['scope', undefined, 'invalid_scope'],
  ])('%s is required, and %s will not do: %s', async (name, value, error) => {
    const answer = answerOf(await open({ [name]: value }))
    expect(Object.fromEntries(answer)).toMatchObject({ error, state: request.state })
  })

  test('scope: space-separated, for example openid, email and profile', async () => {
    const page = await open({ scope: 'openid email profile' })
    expect(findForm(page, 'login')).toBeDefined()
  })

  test('state is not required, and none comes back', async () => {
    const agent = createUserAgent(server.url)
    const page = await agent.get(authorizationUrl(server, { ...request, state: undefined }))
    const answer = answerOf(await goThrough(agent, page))
    expect([...answer.keys()]).toEqual(['code', 'iss'])
  })

  test('after the user accepts consent, and not before, the browser is redirected with code and state', async () => {
    const { agent, consent } = await signInToNewApp()
    expect([consent.status, consent.headers.get('location')]).toEqual([200, null])
    const accepted = await agent.submit(consent, 'consent', { decision: 'allow' })
    expect([accepted.status, answerOf(accepted).get('state')]).toEqual([303, request.state])
    expect(answerOf(accepted).get('code')).toBeTruthy()
  })

  test('a user who does not accept sends the browser back without a code', async () => {
    const { agent, consent } = await signInToNewApp()
    const denied = answerOf(await agent.submit(consent, 'consent', { decision: 'deny' }))
    expect(Object.fromEntries(denied)).toMatchObject({ error: 'access_denied', state: request.state })
    expect(denied.has('code')).toBe(false)
  })
})
