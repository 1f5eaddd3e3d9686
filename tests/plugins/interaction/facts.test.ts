/** What plugins know of a request and no client says: who alone may approve it, and what a step found out on the way. */
import { decodeJwt } from 'jose'
import { expect, test } from 'vitest'
import type { Granted } from '../../../src/doors/facts.ts'
import { parentOf } from '../../../src/doors/parents.ts'
import { startServer } from '../../support/server.ts'
import { ALICE, authorizationUrl, BOB, getTokens, goThrough, refresh, SEED } from '../../support/sign-in.ts'
import { createUserAgent, findForm } from '../../support/user-agent.ts'

/** What the two steps say of who acts, and of what it is granted for; nothing while it is empty. */
let vouched: readonly Pick<Granted, 'actor' | 'parent'>[] = []

const server = await startServer({}, {
  seed: SEED,
  extend({ oauth, interactions, ...app }) {
    oauth.add('interactionStep', {
      name: 'organisation',
      required: 'interaction_required',
      run: async () => ({ granted: { parameters: { organisation: 'acme' } } }),
      submit: async () => ({ note: {} }),
    })
    for (const [name, seconds] of [['contract', 600], ['badge', 60], ['device', 3000]] as const)
      oauth.add('interactionStep', {
        name,
        required: 'interaction_required',
        run: async () => ({ granted: { notAfter: Date.now() + seconds * 1000 } }),
        submit: async () => ({ note: {} }),
      })
    for (const at of [0, 1])
      oauth.add('interactionStep', {
        name: `delegate-${at}`,
        required: 'interaction_required',
        run: async () => (vouched[at] === undefined ? 'done' : { granted: vouched[at] }),
        submit: async () => ({ note: {} }),
      })
    oauth.extend('access_token', ['organisation', 'nonce_was'], async ({ parameters = {} }) => ({
      organisation: parameters['organisation'],
      nonce_was: parameters['nonce'],
    }))
    oauth.register('outcome', 'told', {
      approved: async (_ended, { subject }, { reply }) => reply.send({ subject }),
      denied: async (_ended, { code }, { reply }) => reply.send({ denied: code }),
    })
    app.get<{ Params: { name: string } }>('/approve/:name', async (request, reply) => {
      const client = (await oauth.findClient('web'))!
      const { id } = (await oauth.users.find(request.params.name))!
      const asked = { ...(await oauth.parseApproval(client, { scope: 'openid' })), user: id }
      return interactions.start(asked, 'told', {}, { request, reply })
    })
  },
}) // prettier-ignore

test('what a step finds out lives on with the Authorization, beside what the request said', async () => {
  const tokens = await getTokens(server, { nonce: 'n-1' })
  const next = (await (await refresh(server, tokens.refresh_token)).json()) as { access_token: string }
  for (const token of [tokens.access_token, next.access_token])
    expect(decodeJwt(token)).toMatchObject({ organisation: 'acme', nonce_was: 'n-1' })
})

test('a request for one user is approved by nobody else, whoever is signed in', async () => {
  const { id } = (await server.server.oauth.users.find(BOB.username))!
  const agent = createUserAgent(server.url)
  const { username, password } = ALICE
  const page = await agent.get(`${server.url}/approve/${BOB.username}`)
  const asAlice = await agent.submit(page, 'login', { username, password })
  expect(JSON.parse(asAlice.body)).toEqual({ denied: 'login_required' })

  // Signed in as somebody else by now: they are asked who they are.
  const there = createUserAgent(server.url)
  await goThrough(there, await there.get(authorizationUrl(server)))
  const asked = await there.get(`${server.url}/approve/${BOB.username}`)
  expect(findForm(asked, 'login')).toBeDefined()
  const form = { username: BOB.username, password: BOB.password }
  const consent = await there.submit(asked, 'login', form)
  const done = await there.submit(consent, 'consent', { decision: 'allow' })
  expect(JSON.parse(done.body)).toEqual({ subject: id })
})

test('of several steps that say how long it is good, the shortest counts', async () => {
  const { access_token: token, expires_in: seconds } = await getTokens(server)
  const { iat = 0, exp = 0 } = decodeJwt(token)
  expect([exp - iat, seconds].every((one) => one > 50 && one <= 60)).toBe(true)
})

test('of several steps that say who acts, the later acted last, for the one before it', async () => {
  vouched = [{ actor: { sub: 'agent', act: { sub: 'first' } } }, { actor: { sub: 'helper' } }]
  const { access_token: token } = await getTokens(server)
  expect(decodeJwt(token)['act']).toEqual({ sub: 'helper', act: { sub: 'agent', act: { sub: 'first' } } })
  vouched = [{ actor: { sub: 'agent' } }]
  expect(decodeJwt((await getTokens(server)).access_token)['act']).toEqual({ sub: 'agent' })
  vouched = []
})

test.each([0, 1])(
  'what several steps say it is granted for, it ends with each of them: with number %i',
  async (ended) => {
    const { verify, revoke } = server.server.oauth
    const sources = await Promise.all(
      [0, 1].map(async () => (await verify((await getTokens(server)).access_token))!),
    )
    vouched = sources.map((source) => ({ parent: parentOf(source) }))
    const { access_token: token } = await getTokens(server)
    vouched = []
    expect(await verify(token)).not.toBeNull()
    await revoke(sources[ended]!.authorization!.id!, 'test')
    expect(await verify(token)).toBeNull()
  },
)
