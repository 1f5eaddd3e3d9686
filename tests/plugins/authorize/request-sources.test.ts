/** Requests that are elsewhere than in the address: found at their source, judged as any, and answered once. */
import { describe, expect, test } from 'vitest'
import { kernelOf } from '../../../src/http/kernel-of.ts'
import type { RequestSource } from '../../../src/doors/authorization-requests.ts'
import type { Artifacts } from '../../../src/doors/artifacts.ts'
import { OAuthError } from '../../../src/protocol/errors.ts'
import { Type } from '../../../src/protocol/schema.ts'
import type { Wire } from '../../../src/protocol/wire.ts'
import { basic } from '../../support/requests.ts'
import { startServer } from '../../support/server.ts'
import {
  ALICE,
  answerOf,
  authorizationUrl,
  goThrough,
  REDIRECT_URI,
  SEED,
  WEB,
} from '../../support/sign-in.ts'
import { createUserAgent, findForm } from '../../support/user-agent.ts'

const PUBLIC = { client_id: 'public', token_endpoint_auth_method: 'none', redirect_uris: [REDIRECT_URI] }
const REQUEST: Wire = {
  client_id: 'web',
  redirect_uri: REDIRECT_URI,
  response_type: 'code',
  scope: 'openid',
  state: 'inside',
}
let kept!: Artifacts<Wire>
let seen: (readonly string[])[] = []

/** What stands in the parameter, as JSON. */
const sealed: RequestSource = {
  supports: ['request'],
  recognizes: (wire) => wire['request'] !== undefined,
  async resolve({ request }) {
    if (!String(request).startsWith('{')) throw new OAuthError('invalid_request_object', 'it is no JSON')
    return { wire: JSON.parse(String(request)) as Wire }
  },
}
/** What the server keeps, by its handle. */
const given: RequestSource = {
  recognizes: ({ request_uri: uri }) => String(uri).startsWith('urn:given:'),
  async resolve({ request_uri: uri }) {
    const handle = String(uri).slice('urn:given:'.length)
    const wire = await kept.get(handle)
    if (wire === null) throw new OAuthError('invalid_request_uri', 'there is no such request')
    return { wire, spends: [{ kind: 'given', handle }] }
  },
}

const server = await startServer({ WITHOUT: 'latchkey-jar' }, {
  seed: { ...SEED, clients: [WEB, PUBLIC] },
  extend({ oauth }) {
    kept = oauth.artifacts<Wire>('given', { lifetime: 60 })
    oauth.register('requestSource', 'sealed', sealed)
    oauth.register('requestSource', 'given', given)
    oauth.add('authorizationCheck', { name: 'seen', check: ({ sources }) => void seen.push(sources) })
    oauth.registerEndpoint({
      path: '/judge', metadata: 'judge_endpoint', publicClients: true, parameters: Type.Object({}),
      async handle(_none, { client, wire }) {
        const { client: _client, scopes, ...read } = await oauth.parseRequest(wire, client, { source: 'given' })
        return { ...read, scopes: [...scopes] }
      },
    })
  },
}) // prettier-ignore

const asked = (parameters: Record<string, string>): string =>
  `${server.url}/authorize?${new URLSearchParams({ client_id: 'web', ...parameters }).toString()}`
const give = async (wire: Wire): Promise<string> => `urn:given:${await kept.put(wire)}`

test('the order of the checks can be seen', () => {
  const names = kernelOf(server.server).doors.all('authorizationCheck').map(({ name }) => name)
  expect(names).toEqual(['profile', 'request_object', 'demanded_request', 'response_type', 'grant_type', 'response_mode', 'jarm', 'code_challenge', 'pushed', 'id_token_encryption', 'seen'])
}) // prettier-ignore

test('the metadata says what is registered', async () => {
  const metadata = await (await server.get('/.well-known/openid-configuration')).json()
  expect(metadata).toMatchObject({
    request_parameter_supported: true,
    request_uri_parameter_supported: false,
  })
})

test('the request at its source replaces what stands beside it', async () => {
  const agent = createUserAgent(server.url)
  const url = asked({ request: JSON.stringify(REQUEST), scope: 'email', state: 'outside', prompt: 'none' })
  const answer = answerOf(await goThrough(agent, await agent.get(url)))
  expect(Object.fromEntries(answer)).toMatchObject({ state: 'inside', code: expect.any(String) as string })
})

test('it may be looked at again, in any browser, and is answered once', async () => {
  const url = asked({ request_uri: await give(REQUEST) })
  const [one, two] = [createUserAgent(server.url), createUserAgent(server.url)]
  const pages = [await one.get(url), await two.get(url)]
  expect(pages.map((page) => findForm(page, 'login') !== undefined)).toEqual([true, true])
  expect(findForm(await one.get(url), 'login')).toBeDefined()
  expect(answerOf(await goThrough(one, pages[0]!)).get('code')).toMatch(/./)
  expect(Object.fromEntries(answerOf(await goThrough(two, pages[1]!)))).toMatchObject({
    error: 'invalid_request_uri',
    state: 'inside',
  })
  const late = await one.get(url)
  expect([late.status, late.body]).toEqual([400, expect.stringContaining('invalid_request_uri')])
})

test('a person who refuses it has answered it', async () => {
  const url = asked({ request_uri: await give({ ...REQUEST, prompt: 'consent' }) })
  const agent = createUserAgent(server.url)
  const consent = await agent.submit(await agent.get(url), 'login', {
    username: ALICE.username,
    password: ALICE.password,
  })
  const answer = answerOf(await agent.submit(consent, 'consent', { decision: 'deny' }))
  expect(answer.get('error')).toBe('access_denied')
  expect((await agent.get(url)).status).toBe(400)
})

test('one source may lead to another, and checks know the way', async () => {
  seen = []
  const agent = createUserAgent(server.url)
  const url = asked({ request_uri: await give({ client_id: 'web', request: JSON.stringify(REQUEST) }) })
  expect(findForm(await agent.get(url), 'login')).toBeDefined()
  await agent.get(authorizationUrl(server))
  expect(seen).toEqual([['given', 'sealed'], []])
})

describe('refused', () => {
  const page = async (parameters: Record<string, string>) => {
    const shown = await createUserAgent(server.url).get(asked(parameters))
    const { location } = Object.fromEntries(shown.headers)
    return location === undefined
      ? `page ${/id="error-code">([^<]*)/.exec(shown.body)?.[1]}`
      : new URL(location).searchParams.get('error')
  }
  const json = (wire: Wire) => JSON.stringify(wire)
  const outside = { redirect_uri: REDIRECT_URI }

  test.each([
    ['is unknown, on a page', { request_uri: 'urn:given:nothing' }, 'page invalid_request_uri'],
    ['is unknown, at the redirect URI that was sent', { ...outside, request_uri: 'urn:given:no' }, 'invalid_request_uri'],
    ['is unknown, on a page where the redirect URI is not good', { redirect_uri: 'https://evil.example', request_uri: 'urn:given:no' }, 'page invalid_request'],
    ['is of another client', { request: json({ ...REQUEST, client_id: 'public' }) }, 'page invalid_request_object'],
    ['is of no client', { request: json({ ...REQUEST, client_id: '' }) }, 'page invalid_request_object'],
    ['holds itself', { request: json({ ...REQUEST, request: json(REQUEST) }) }, 'page invalid_request_object'],
    ['leads to another', { request: json({ ...REQUEST, request_uri: 'urn:given:x' }) }, 'page invalid_request_object'],
    ['has a redirect URI of its own making', { ...outside, request: json({ ...REQUEST, redirect_uri: 'https://evil.example' }) }, 'page invalid_request'],
    ['says nothing of where it goes', { ...outside, request: json({ client_id: 'web' }) }, 'page invalid_request'],
    ['is not served', { ...outside, request: json({ ...REQUEST, response_type: 'token' }) }, 'unsupported_response_type'],
    ['comes both ways', { ...outside, request: json(REQUEST), request_uri: 'urn:given:x' }, 'invalid_request'],
    ['comes both ways, one of them of nobody', { ...outside, request: json(REQUEST), request_uri: 'https://x.example' }, 'invalid_request'],
    ['is at an address of nobody', { ...outside, response_type: 'code', request_uri: 'https://app.example/r.jwt' }, 'request_uri_not_supported'],
  ])('a request that %s', async (_name, parameters, told) => {
    expect(await page(parameters as Record<string, string>)).toBe(told)
  }) // prettier-ignore

  test('what is repeated, before the source is asked', async () => {
    const url = `${asked({ ...outside, request: 'x' })}&request=y`
    const shown = await createUserAgent(server.url).get(url)
    const told = new URL(shown.headers.get('location')!).searchParams
    expect([told.get('error'), told.get('error_description')]).toEqual([
      'invalid_request',
      'the parameter request is repeated',
    ])
  })
})

describe('parseRequest', () => {
  const judge = async (form: Record<string, string>, credentials = basic('web', WEB.client_secret)) => {
    const response = await server.post('/judge', form, credentials)
    return { status: response.status, ...((await response.json()) as object) }
  }
  const { client_id: _id, ...form } = REQUEST as Record<string, string>

  test('reads all of an authorization request, a request object in it too', async () => {
    seen = []
    const all = { status: 200, redirectUri: REDIRECT_URI, responseType: 'code', responseMode: 'query', state: 'inside', scopes: ['openid'] }
    expect(await judge(form)).toMatchObject(all)
    expect(await judge({ request: JSON.stringify(REQUEST) })).toMatchObject(all)
    expect(seen).toEqual([['given'], ['given', 'sealed']])
  }) // prettier-ignore

  test.each([
    ['redirect URI', { redirect_uri: 'https://evil.example' }, 'invalid_request'],
    ['response type', { response_type: 'token' }, 'unsupported_response_type'],
    ['response mode', { response_mode: 'pigeon' }, 'invalid_request'],
    ['scope', { scope: 'nothing' }, 'invalid_scope'],
    ['parameter', { max_age: 'x' }, 'invalid_request'],
    ['request object', { request: 'x' }, 'invalid_request_object'],
  ])('a bad %s is refused', async (_name, more, error) => {
    expect(await judge({ ...form, ...more })).toMatchObject({ status: 400, error })
  })

  test('of a public client PKCE is asked for, which parseApproval does not', async () => {
    const asking = { ...form, client_id: 'public' }
    expect(await judge(asking, {} as never)).toMatchObject({ status: 400, error: 'invalid_request' })
    const { oauth } = server.server
    const client = (await oauth.findClient('public'))!
    expect((await oauth.parseApproval(client, asking)).scopes).toEqual(new Set(['openid']))
  })
})
