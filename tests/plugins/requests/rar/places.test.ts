/**
 * Authorization details without scopes, at the resources that they name as `locations` (RFC 9396 §2.2, §9.1), and of clients that act for
 * themselves (§6).
 */
import { decodeJwt } from 'jose'
import { beforeEach, describe, expect, test } from 'vitest'
import { kernelOf } from '../../../../src/http/kernel-of.ts'
import { Type } from '../../../../src/protocol/schema.ts'
import { ACCOUNTS, addBank, asking, BANK } from '../../../support/bank.ts'
import { basic } from '../../../support/requests.ts'
import { startServer } from '../../../support/server.ts'
import {
  ALICE,
  answerOf,
  authorizationUrl,
  goThrough,
  REDIRECT_URI,
  SEED,
  WEB,
} from '../../../support/sign-in.ts'
import { createUserAgent, type UserAgent } from '../../../support/user-agent.ts'

const [PAYMENTS, STATEMENTS] = ['https://bank.example/payments', 'https://bank.example/statements']
const LOOK = { type: 'look', locations: [STATEMENTS] }
const BOTH = { type: 'look', locations: [PAYMENTS, STATEMENTS] }
const REPORT = { type: 'report', month: '2026-11' }
const types = ['look', 'report', 'accounts']
const clients = [
  { ...BANK, authorization_details_types: types, scope: ['read_books'] },
  { ...BANK, client_id: 'opaque', authorization_details_types: types, access_token_format: 'opaque' },
  { ...BANK, client_id: 'usual', authorization_details_types: types, default_scope: ['openid'] },
  { client_id: 'service', client_secret: WEB.client_secret, scope: ['read_books'], authorization_details_types: types },
  { client_id: 'bare', client_secret: WEB.client_secret, grant_types: ['client_credentials'], authorization_details_types: ['report', 'look'] },
  { client_id: STATEMENTS, client_secret: WEB.client_secret, scope: ['bank', 'opaque'] },
  { client_id: PAYMENTS, client_secret: WEB.client_secret, scope: ['bank', 'opaque'] },
] // prettier-ignore
const seed = {
  ...SEED,
  resources: [
    { resource: PAYMENTS, name: 'Payments', scopes: ['read_books'] },
    { resource: STATEMENTS, name: 'Statements', aliases: ['https://old.example/statements'] },
  ],
  clients,
}
const server = await startServer(
  {},
  {
    seed,
    extend(fastify) {
      addBank(fastify)
      const locations = Type.Optional(Type.Array(Type.String()))
      fastify.oauth.register('authorizationDetailsType', 'look', {
        schema: Type.Object({ locations }),
        describe: ({ locations: at = [] }) => `Look at ${[at].flat().join(' and ')}`,
      })
      fastify.oauth.register('authorizationDetailsType', 'report', {
        schema: Type.Object({ month: Type.String(), locations }),
        describe: ({ month }) => `Reports of ${String(month)}`,
        withoutPeople: true,
      })
    },
  },
)

const { resources } = kernelOf(server.server)
const { clients: registered } = server.server.oauth

type Said = Record<string, unknown>

async function post(path: string, form: object, id = 'bank'): Promise<Said & { status: number }> {
  const response = await server.post(path, form as Record<string, string>, basic(id, WEB.client_secret))
  return { status: response.status, ...((await response.json()) as Said) }
}

/** Of a request without scope, unless one is named. */
const addressOf = (wire: object): string => authorizationUrl(server, { scope: undefined, ...wire })

async function codeFor(wire: object, id = 'bank', agent: UserAgent = createUserAgent(server.url)): Promise<string> {
  const page = await goThrough(agent, await agent.get(addressOf({ client_id: id, ...wire })))
  return answerOf(page).get('code')!
} // prettier-ignore

const exchanged = async (code: string, more: object = {}, id = 'bank') =>
  post('/token', { grant_type: 'authorization_code', code, redirect_uri: REDIRECT_URI, ...more }, id)
const refreshed = async ({ refresh_token }: Said, more: object = {}, id = 'bank') =>
  post('/token', { grant_type: 'refresh_token', refresh_token, ...more }, id)

const tokenOf = ({ access_token }: Said) => decodeJwt(String(access_token))

describe('without a scope', () => {
  test('people are asked by the details alone, and the token is for the resources that they name', async () => {
    const agent = createUserAgent(server.url)
    const tokens = await exchanged(await codeFor(asking(LOOK), 'bank', agent))
    expect(tokens).toMatchObject({ status: 200, authorization_details: [LOOK] })
    expect(tokens).not.toHaveProperty('scope')
    expect(tokens).not.toHaveProperty('id_token')
    const claims = tokenOf(tokens)
    expect(claims).toMatchObject({ aud: STATEMENTS, authorization_details: [LOOK] })
    expect(claims).not.toHaveProperty('scope')
    expect(await refreshed(tokens)).toMatchObject({ status: 200, authorization_details: [LOOK] })
    // It is remembered: the same is not asked for again.
    const silent = await agent.get(addressOf({ client_id: 'bank', prompt: 'none', ...asking(LOOK) }))
    expect(answerOf(silent).get('code')).toEqual(expect.any(String))
    const more = await agent.get(addressOf({ client_id: 'bank', prompt: 'none', ...asking(BOTH) }))
    expect(answerOf(more).get('error')).toBe('consent_required')
    expect((await agent.get(`${server.url}/account/apps`)).body).toContain(`Look at ${STATEMENTS}`)
    const userinfo = await server.get('/userinfo', { authorization: `Bearer ${String(tokens['access_token'])}` })
    expect(userinfo.status).toBe(401)
  }) // prettier-ignore

  test('details that name no place are for the server itself', async () => {
    const tokens = await exchanged(await codeFor(asking(ACCOUNTS)))
    expect(tokenOf(tokens)).toMatchObject({ aud: server.url, authorization_details: [ACCOUNTS] })
    expect((await refreshed(tokens)).status).toBe(200)
    const userinfo = await server.get('/userinfo', { authorization: `Bearer ${String(tokens['access_token'])}` })
    expect([userinfo.status, userinfo.headers.get('www-authenticate')]).toEqual([403, expect.stringContaining('insufficient_scope')])
  }) // prettier-ignore

  test('an opaque token stands for them as well, and each API is told what is for it', async () => {
    const tokens = await exchanged(await codeFor(asking(BOTH, ACCOUNTS), 'opaque'), {}, 'opaque')
    const token = String(tokens['access_token'])
    const told = async (id: string) => (await post('/introspect', { token }, id))['authorization_details']
    expect(await told('opaque')).toEqual([BOTH, ACCOUNTS])
    expect(await told(STATEMENTS)).toEqual([LOOK, ACCOUNTS])
    expect(await told(PAYMENTS)).toEqual([{ ...BOTH, locations: [PAYMENTS] }, ACCOUNTS])
  })

  test('a default of the client counts, and neither scope nor details is refused', async () => {
    const tokens = await exchanged(await codeFor(asking(LOOK), 'usual'), {}, 'usual')
    expect(tokens).toMatchObject({ scope: 'openid', authorization_details: [LOOK] })
    expect(tokenOf(tokens)['aud']).toEqual([server.url, STATEMENTS])
    const none = await createUserAgent(server.url).get(addressOf({ client_id: 'bank' }))
    expect(answerOf(none).get('error')).toBe('invalid_scope')
    const unknown = await createUserAgent(server.url).get(
      addressOf({ client_id: 'bank', scope: 'made_up', ...asking(LOOK) }),
    )
    expect(answerOf(unknown).get('error')).toBe('invalid_scope')
  })

  test('pushed too', async () => {
    const pushed = await post('/par', {
      response_type: 'code',
      redirect_uri: REDIRECT_URI,
      ...asking(LOOK),
    })
    expect(pushed.status).toBe(201)
    const request = new URLSearchParams({ client_id: 'bank', request_uri: String(pushed['request_uri']) })
    const agent = createUserAgent(server.url)
    const page = await goThrough(agent, await agent.get(`${server.url}/authorize?${request.toString()}`))
    const tokens = await exchanged(answerOf(page).get('code')!)
    expect(tokens).toMatchObject({ status: 200, authorization_details: [LOOK] })
  })
})

describe('locations', () => {
  test('are registered resources by whatever name, and nothing else', async () => {
    const old = { ...LOOK, locations: ['https://old.example/statements/', `${STATEMENTS}/`] }
    expect(await exchanged(await codeFor(asking(old)))).toMatchObject({ authorization_details: [LOOK] })
    for (const locations of [[], ['https://elsewhere.example/'], [STATEMENTS, 'elsewhere'], ['']]) {
      const page = await createUserAgent(server.url).get(addressOf({ client_id: 'bank', ...asking({ ...LOOK, locations }) }))
      expect([locations, answerOf(page).get('error')]).toEqual([locations, 'invalid_authorization_details'])
    }
  }) // prettier-ignore

  test('a token for one resource says what is for that one, and the next all again', async () => {
    const code = await codeFor({ scope: 'openid read_books', ...asking(BOTH, ACCOUNTS) })
    const tokens = await exchanged(code, { resource: STATEMENTS })
    expect(tokens['authorization_details']).toEqual([LOOK, ACCOUNTS])
    expect(tokenOf(tokens)).toMatchObject({ aud: STATEMENTS, authorization_details: [LOOK, ACCOUNTS] })
    const all = await refreshed(tokens)
    expect(all['authorization_details']).toEqual([BOTH, ACCOUNTS])
    expect(tokenOf(all)['aud']).toEqual([server.url, PAYMENTS, STATEMENTS])
    const none = await refreshed(all, { resource: server.url })
    expect([tokenOf(none)['aud'], none['authorization_details']]).toEqual([server.url, [ACCOUNTS]])
    expect(await refreshed(none, { resource: 'https://elsewhere.example/' })).toMatchObject({ status: 400, error: 'invalid_target' })
    expect((await refreshed(none)).status).toBe(200)
  }) // prettier-ignore

  test('a resource that was named for the scopes leaves them theirs (§3.2)', async () => {
    const wire = { scope: 'openid read_books', resource: PAYMENTS, ...asking(LOOK) }
    const tokens = await exchanged(await codeFor(wire))
    expect(tokenOf(tokens)).toMatchObject({ aud: [PAYMENTS, STATEMENTS], authorization_details: [LOOK] })
  })

  test('less of them is a token for fewer resources, and more is refused', async () => {
    const tokens = await exchanged(await codeFor(asking(BOTH)), asking(LOOK))
    expect([tokenOf(tokens)['aud'], tokens['authorization_details']]).toEqual([STATEMENTS, [LOOK]])
    const all = await refreshed(tokens)
    expect([tokenOf(all)['aud'], all['authorization_details']]).toEqual([[PAYMENTS, STATEMENTS], [BOTH]])
    const one = await exchanged(await codeFor(asking(LOOK)))
    expect(await refreshed(one, asking(BOTH))).toMatchObject({ error: 'invalid_authorization_details' })
    expect((await refreshed(one)).status).toBe(200)
  })

  test('of a resource that is gone, nothing is given any more', async () => {
    const gone = 'https://bank.example/gone'
    await resources.saveResource({ resource: gone, name: 'Gone' })
    const there = { ...LOOK, locations: [gone, STATEMENTS] }
    const tokens = await exchanged(await codeFor(asking(there)))
    expect(tokens['authorization_details']).toEqual([there])
    const alone = await exchanged(await codeFor(asking({ ...LOOK, locations: [gone] })))
    await resources.deleteResource(gone)
    const next = await refreshed(tokens)
    expect([tokenOf(next)['aud'], next['authorization_details']]).toEqual([STATEMENTS, [LOOK]])
    expect(await refreshed(alone)).toMatchObject({ status: 400, error: 'invalid_target' })
  })
})

describe('what was named with `resource` and is gone before the answer', () => {
  const GONE = 'https://bank.example/closed'
  const wire = { scope: 'openid read_books', resource: PAYMENTS }
  const atGone = asking({ ...LOOK, locations: [GONE] }, ACCOUNTS)
  const audienceOf = (tokens: Said) => [tokens['error'], tokens['access_token'] && tokenOf(tokens)['aud']]
  beforeEach(async () => {
    await resources.saveResource({ resource: GONE, name: 'Closed' })
    await registered.update('bank', { authorization_details_types: types, scope: ['read_books'] })
  })

  /** What is allowed on a page that was open before. */
  async function allowedAfter(asked: object, change: () => Promise<unknown>) {
    const agent = createUserAgent(server.url)
    const login = await agent.get(addressOf({ client_id: 'bank', prompt: 'consent', ...asked }))
    const { username, password } = ALICE
    const page = await agent.submit(login, 'login', { username, password })
    await change()
    return answerOf(await agent.submit(page, 'consent', { decision: 'allow' }))
  }

  test.each([
    ['a type', async () => registered.update('bank', { authorization_details_types: ['accounts'] })],
    ['a resource', async () => resources.deleteResource(GONE)],
  ])('%s: a page that was open gives what is left', async (_what, change) => {
    const answer = await allowedAfter({ ...wire, ...atGone }, change)
    const tokens = await exchanged(answer.get('code')!)
    expect(audienceOf(tokens)).toEqual([undefined, PAYMENTS])
    expect(tokens['authorization_details']).toEqual([ACCOUNTS])
    expect(audienceOf(await refreshed(tokens))).toEqual([undefined, PAYMENTS])
  })

  test('a scope: a page that was open gives what is left', async () => {
    const change = async () => registered.update('bank', { scope: [] })
    const tokens = await exchanged((await allowedAfter({ ...wire, ...atGone }, change)).get('code')!)
    expect(audienceOf(tokens)).toEqual([undefined, GONE])
  })

  test('where none of them is left, nothing is given', async () => {
    const change = async () => registered.update('bank', { scope: [] })
    expect((await allowedAfter(wire, change)).get('error')).toBe('invalid_target')
  })

  test('a code that is on its way gives what is left, and nothing for what is gone', async () => {
    const [whole, one] = [await codeFor({ ...wire, ...atGone }), await codeFor({ ...wire, ...atGone })]
    await resources.deleteResource(GONE)
    expect(audienceOf(await exchanged(one, { resource: GONE }))).toEqual(['invalid_target', undefined])
    expect(audienceOf(await exchanged(one, { resource: PAYMENTS }))).toEqual([undefined, PAYMENTS])
    const tokens = await exchanged(whole)
    expect(audienceOf(tokens)).toEqual([undefined, PAYMENTS])
    expect(tokens['authorization_details']).toEqual([ACCOUNTS])
  })
})

describe('a client that acts for itself (§6)', () => {
  const own = async (form: object, id = 'service') =>
    post('/token', { grant_type: 'client_credentials', ...form }, id)

  test('gets what it is allowed, where the type needs nobody: alone, beside scopes, or without any scope of its own', async () => {
    const alone = await own(asking(REPORT))
    expect(alone).toMatchObject({ status: 200, authorization_details: [REPORT] })
    expect(alone).not.toHaveProperty('scope')
    expect(tokenOf(alone)).toMatchObject({ aud: server.url, sub: 'service', authorization_details: [REPORT] })
    const beside = await own({ scope: 'read_books', ...asking({ ...REPORT, locations: [STATEMENTS] }) })
    expect(beside['scope']).toBe('read_books')
    expect(tokenOf(beside)['aud']).toEqual([PAYMENTS, STATEMENTS])
    expect(await own(asking(REPORT), 'bare')).toMatchObject({ status: 200, authorization_details: [REPORT] })
    expect(await own({}, 'bare')).toMatchObject({ status: 400, error: 'invalid_scope' })
    expect(await own({})).toMatchObject({ status: 200, scope: 'read_books' })
  })

  test('gets nothing that people must allow, that it is not allowed, or that is for nobody', async () => {
    for (const details of [[LOOK], [REPORT, LOOK], [{ type: 'budget', most: 1 }], [{ ...REPORT, more: 1 }], [{ ...REPORT, locations: ['https://elsewhere.example/'] }]])
      expect(await own(asking(...details))).toMatchObject({ status: 400, error: 'invalid_authorization_details' })
    expect(await own(asking(ACCOUNTS), 'bare')).toMatchObject({ error: 'invalid_authorization_details' })
    expect(await own({ resource: PAYMENTS, ...asking(REPORT) })).toMatchObject({ error: 'invalid_target' })
  }) // prettier-ignore
})
