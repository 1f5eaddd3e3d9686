/** How answers leave by the doors: response types and modes of plugins, what others add, and what no answer says. */
import { decodeJwt, decodeProtectedHeader } from 'jose'
import { expect, test } from 'vitest'
import type { FastifyInstance } from 'fastify'
import type { AuthorizationAnswer } from '../../../src/doors/approval.ts'
import { tokenHash } from '../../../src/protocol/token-hash.ts'
import { startServer } from '../../support/server.ts'
import { ALICE, authorizationUrl, goThrough, SEED, WEB, type Tokens } from '../../support/sign-in.ts'
import { createUserAgent, findForm } from '../../support/user-agent.ts'

const TYPE = 'code id_token'
const HYBRID = { ...WEB, client_id: 'hybrid', response_types: ['id_token code'] }
const heard: AuthorizationAnswer[] = []

function addAnswers({ oauth }: FastifyInstance): void {
  oauth.register('responseType', TYPE, {
    defaultMode: 'fragment',
    async respond(granted, request, call) {
      const { code } = await oauth.owners('responseType').get('code')!.respond(granted, request, call)
      const beside = { code: String(code), state: request.state! }
      return { code: code!, id_token: await oauth.idTokens.issue(granted, call, beside), iss: 'mallory', state: 'mallory' } // prettier-ignore
    },
  })
  oauth.register('responseMode', 'later', {
    inQuery: false,
    async send(reply, { redirectUri, client: { clientId }, responseType = 'none' }, answer) {
      await oauth.findClient(clientId)
      const said = { ...answer, by: clientId, type: responseType } as Record<string, string>
      return reply.redirect(`${redirectUri}#${new URLSearchParams(said).toString()}`, 303)
    },
  })
  oauth.extend('authorizationResponse', ['session_state'], async (about, document, { client, request }) => {
    heard.push(about)
    const names = Object.keys(document).toSorted().join()
    return { session_state: `${client.clientId} ${request.method} ${names}`, iss: 'mallory', code: 'mallory' }
  })
}

const server = await startServer({}, { seed: { ...SEED, clients: [WEB, HYBRID] }, extend: addAnswers })
const asking = (more: Record<string, string | undefined> = {}) =>
  authorizationUrl(server, { client_id: 'hybrid', response_type: TYPE, scope: 'openid email', nonce: 'n', ...more }) // prettier-ignore

/** Where it went, and what of it stands in the query and behind `#`. */
async function told(url: string, agent = createUserAgent(server.url)) {
  const page = await goThrough(agent, await agent.get(url))
  const { search, hash } = new URL(page.headers.get('location')!)
  const [query, fragment] = [search, hash].map((text) =>
    Object.fromEntries(new URLSearchParams(text.slice(1))),
  )
  return { query: query!, fragment: fragment! }
}

test.each(['code id_token', 'id_token code'])(
  '%s: tokens travel behind #, and the ID token names the code that it comes with',
  async (response_type) => {
    const { query, fragment } = await told(asking({ response_type }))
    const { code, id_token: token, state, iss } = fragment as Record<string, string>
    expect([query, state, iss]).toEqual([{}, 'a state', server.url])
    const { id: sub } = (await server.server.oauth.users.find(ALICE.username))!
    const claims = decodeJwt(token!)
    expect(claims).toMatchObject({
      iss: server.url,
      sub,
      aud: 'hybrid',
      nonce: 'n',
      acr: '1',
      amr: ['pwd'],
      auth_time: expect.any(Number) as number,
      sid: expect.any(String) as string,
      c_hash: tokenHash(code!, 'RS256'),
      s_hash: tokenHash('a state', 'RS256'),
    })
    expect([claims['at_hash'], claims['email']]).toEqual([undefined, undefined])
  },
)

test('the code that it came with gives an ID token that says the rest of the same sign-in', async () => {
  const { fragment } = await told(asking())
  const form = { grant_type: 'authorization_code', code: fragment['code']!, redirect_uri: WEB.redirect_uri }
  const authentication = { client_id: 'hybrid', client_secret: WEB.client_secret }
  const tokens = (await (await server.post('/token', { ...form, ...authentication })).json()) as Tokens
  const [front, back] = [decodeJwt(fragment['id_token']!), decodeJwt(tokens.id_token)]
  expect(back).toMatchObject({ email: ALICE.email, at_hash: expect.any(String) as string })
  for (const name of ['iss', 'sub', 'aud', 'nonce', 'auth_time', 'acr', 'sid'])
    expect(back[name]).toEqual(front[name])
  expect(decodeProtectedHeader(tokens.id_token)).not.toHaveProperty('typ')
})

test('a type is registered with its words in any order, stays so, and is known to be served', async () => {
  const { metadata } = (await server.server.oauth.findClient('hybrid'))!
  expect(metadata['response_types']).toEqual(['id_token code'])
  expect(server.output()).not.toContain('nothing serves it')
})

test('a request object that is refused says what sort of answer it asked for', async () => {
  const parts = [{ alg: 'none' }, { response_type: TYPE, state: 'inside' }].map((part) =>
    Buffer.from(JSON.stringify(part)).toString('base64url'),
  )
  const sealed = asking({ request: `${parts.join('.')}.`, response_type: undefined, state: undefined })
  const refused = await told(sealed)
  expect(refused).toMatchObject({ query: {}, fragment: { error: 'request_not_supported', state: 'inside' } })
})

test('what was asked for one by one is in the ID token of the answer too', async () => {
  const claims = JSON.stringify({ id_token: { email: null } })
  const { fragment } = await told(asking({ claims, scope: 'openid' }))
  expect(decodeJwt(fragment['id_token']!)['email']).toBe(ALICE.email)
})

test('tokens do not go in a query: refused, and told behind #, as every error of the type is', async () => {
  const refused = await told(asking({ response_mode: 'query' }))
  expect(refused).toMatchObject({ query: {}, fragment: { error: 'invalid_request', state: 'a state', iss: server.url } }) // prettier-ignore
  const silent = await told(asking({ prompt: 'none' }))
  expect(silent).toMatchObject({ query: {}, fragment: { error: 'login_required', state: 'a state' } })
  const unserved = await told(asking({ response_mode: 'pigeon' }))
  expect(unserved).toMatchObject({ query: {}, fragment: { error: 'invalid_request' } })
})

test('it is for clients that are registered for it; a type that nobody serves is told in the query', async () => {
  const other = await told(asking({ client_id: 'web' }))
  expect(other).toMatchObject({ query: {}, fragment: { error: 'unauthorized_client' } })
  const unserved = await told(asking({ response_type: 'code token' }))
  expect(unserved).toMatchObject({ query: { error: 'unsupported_response_type' }, fragment: {} })
})

test('a mode gets who asked, and may take its time', async () => {
  const { fragment } = await told(asking({ response_mode: 'later' }))
  expect(fragment).toMatchObject({ by: 'hybrid', type: TYPE, code: expect.any(String) as string })
  const refused = await told(asking({ response_mode: 'later', response_type: 'token', prompt: 'none' }))
  expect(refused.fragment).toMatchObject({ by: 'hybrid', type: 'none', error: 'unsupported_response_type' })
})

test('others add to answers and errors what they named; what the server says stands', async () => {
  heard.length = 0
  const agent = createUserAgent(server.url)
  const answered = await told(authorizationUrl(server), agent)
  const { code, ...rest } = answered.query
  expect(rest).toEqual({ state: 'a state', iss: server.url, session_state: 'web POST code,iss,state' })
  expect(code).toMatch(/^[\w-]{64}$/)
  const refused = await told(authorizationUrl(server, { prompt: 'none', scope: 'nothing' }), agent)
  expect(refused.query).toMatchObject({
    error: 'invalid_scope',
    session_state: 'web GET error,error_description,iss,state',
  })
  const { id: subject } = (await server.server.oauth.users.find(ALICE.username))!
  expect(heard.map(({ request, granted }) => [request.responseMode, granted?.subject])).toEqual([
    ['query', subject],
    ['query', undefined],
  ])
})

test('an ID token is about somebody', async () => {
  const nobody = { scopes: new Set(['openid']), resources: [] }
  await expect(server.server.oauth.idTokens.issue(nobody, {} as never)).rejects.toThrow(TypeError)
})

test('whose type and mode are gone when they have decided hears of it at their app', async () => {
  const agent = createUserAgent(server.url)
  const url = asking({ response_mode: 'later', prompt: 'consent' })
  const login = await agent.get(url)
  const consent = await agent.submit(login, 'login', { username: ALICE.username, password: ALICE.password })
  expect(findForm(consent, 'consent')).toBeDefined()
  await server.server.close()
  await startServer(server.settings, { database: server.database })
  const page = await agent.submit(consent, 'consent', { decision: 'allow' })
  const answer = Object.fromEntries(new URL(page.headers.get('location')!).searchParams)
  expect(answer).toMatchObject({ error: 'unsupported_response_type', state: 'a state', iss: server.url })
})
