/** What consent remembers, and what it asks for: scopes, and the keyed lines of parameters. */
import { decodeJwt } from 'jose'
import { beforeEach, expect, test } from 'vitest'
import type { FastifyInstance } from 'fastify'
import { Type } from 'typebox'
import { NIL } from '../../src/protocol/uuid.ts'
import { kernelOf } from '../../src/http/kernel-of.ts'
import { startServer } from '../support/server.ts'
import {
  ALICE, answerOf, authorize, authorizationUrl, BOB, exchange, goThrough, refresh, SEED, WEB, type Tokens,
} from '../support/sign-in.ts' // prettier-ignore
import { createUserAgent, findForm, type Page, type UserAgent } from '../support/user-agent.ts'

const TRUSTED = { ...WEB, client_id: 'trusted', require_consent: false }

function addTransfer({ oauth }: FastifyInstance): void {
  oauth.add('parameter', {
    name: 'transfer',
    schema: Type.String({ maxLength: 20 }),
    consent: (value) => [{ key: String(value), text: `Transfer ${String(value)} EUR` }],
  })
  oauth.add('parameter', {
    name: 'gift',
    schema: Type.String({ maxLength: 20 }),
    consent: (value) => [{ key: String(value), text: `Give ${String(value)} EUR`, once: true }],
  })
  oauth.add('parameter', {
    name: 'seats',
    schema: Type.String({ pattern: '^\\d+-\\d+$' }),
    consent(value) {
      const [first = 0, last = 0] = String(value).split('-').map(Number)
      return Array.from({ length: last - first + 1 }, (_, at) => `${first + at}`).map((key) => ({
        key,
        text: `Seat ${key}`,
      }))
    },
  })
}

const API = 'https://api.example'
const scopes = [...SEED.scopes, { name: 'api:read', description: 'Read at the API', resource: API }]
const resources = [{ resource: API, name: 'The API' }]
const web = { ...WEB, scope: ['read_books', 'api:read'] }
const seed = { ...SEED, clients: [web, TRUSTED], scopes, resources }
const server = await startServer({}, { seed, extend: addTransfer })
const { consents, users } = kernelOf(server.server)
const { id } = (await users.find('alice'))!
const everything = { email: null, address: null, phone_number: null }
let agent: UserAgent

beforeEach(async () => {
  for (const { clientId } of await consents.list(id)) await consents.withdraw(id, clientId)
  agent = createUserAgent(server.url)
})

type Parameters = Record<string, string | undefined>
const claimsOf = (userinfo: object, idToken: object = {}): string =>
  JSON.stringify({ userinfo, id_token: idToken })

/** What comes without a page: an error, or that there is a code. */
async function silently(parameters: Parameters): Promise<string> {
  const answer = answerOf(await agent.get(authorizationUrl(server, { prompt: 'none', ...parameters })))
  return answer.get('error') ?? (answer.has('code') ? 'code' : 'nothing')
}

/** The consent page that comes, in words; undefined where none does. */
async function asked(parameters: Parameters): Promise<string | undefined> {
  const page = await agent.get(authorizationUrl(server, parameters))
  if (findForm(page, 'consent') === undefined) return undefined
  return page.body
    .replaceAll(/<\/?bdi>/g, '')
    .replaceAll(/<[^>]*>/g, ' ')
    .replaceAll(/\s+/g, ' ')
}

async function tokensFor(parameters: Parameters): Promise<Tokens> {
  const response = await exchange(server, (await authorize(server, parameters, agent)).get('code')!)
  return (await response.json()) as Tokens
}

async function userinfoOf({ access_token: token }: Tokens): Promise<Record<string, unknown>> {
  return (await (await server.get(`/userinfo?access_token=${token}`)).json()) as Record<string, unknown>
}

test('a client that was allowed `openid` alone gets no claim of its `claims` by itself', async () => {
  await authorize(server, {}, agent)
  const [atUserinfo, inIdToken] = [claimsOf(everything), claimsOf({}, everything)]
  for (const claims of [atUserinfo, inIdToken, claimsOf({ department: null }), claimsOf({ 'name#de': { essential: true } })])
    expect(await silently({ claims })).toBe('consent_required')
  expect(await silently({})).toBe('code')
  const page = await asked({ claims: atUserinfo })
  for (const line of ['Your email address', 'Your postal address', 'Your phone number']) expect(page).toContain(line)
  expect(await asked({ claims: claimsOf({ department: null }) })).toContain('“department” of your profile')
}) // prettier-ignore

test('what can be no name of a claim is nothing that people are asked for', async () => {
  await authorize(server, {}, agent)
  const [sentence, long] = ['nothing. This app was checked by us', 'x'.repeat(201)]
  for (const claims of [
    claimsOf({ [sentence]: null }),
    claimsOf({}, { [long]: { essential: true }, 'a\u202eb': null }),
  ])
    expect(await silently({ claims })).toBe('code')
  // Spaces that are none, and what is not seen at all.
  for (const name of ['call\u2800us\u2800now', 'call\u3164us', 'call\u00a0us', 'call+us'])
    expect(await silently({ claims: claimsOf({ [name]: null }) })).toBe('code')
  const page = await asked({ claims: claimsOf({ [sentence]: null, email: null }) })
  expect(page).toContain('Your email address')
  expect(page).not.toContain('checked by us')
})

test('what was allowed is released, remembered by name, and covers no other', async () => {
  const tokens = await tokensFor({ claims: claimsOf({ email: null }, { birthdate: null, email: null }) })
  expect(await userinfoOf(tokens)).toEqual({ sub: expect.any(String), email: ALICE.email })
  expect(decodeJwt(tokens.id_token)).toMatchObject({ email: ALICE.email })
  expect(decodeJwt(tokens.id_token)).not.toHaveProperty('phone_number')
  expect(await silently({ claims: claimsOf({ birthdate: null }, { email: { essential: true } }) })).toBe('code')
  for (const claims of [claimsOf({ phone_number: null }), claimsOf({ email: null, email_verified: null }, { phone_number: null })])
    expect(await silently({ claims })).toBe('consent_required')
  const page = await asked({ claims: claimsOf({ email: null, phone_number: null }) })
  expect(page).toMatch(/able to use Your phone number Already allowed \(1\) Your email address/)
}) // prettier-ignore

test('a claim is held by its scope, asked for now or allowed before; the reverse is not so', async () => {
  expect(await asked({ scope: 'openid email', claims: claimsOf({ email: null, email_verified: null }) })).toBeUndefined()
  await goThrough(agent, await agent.get(authorizationUrl(server, { scope: 'openid email' })))
  for (const scope of ['openid', 'openid email'])
    expect(await silently({ scope, claims: claimsOf({ email: null }, { email_verified: null, sub: null, acr: { essential: true } }) })).toBe('code')
  expect(await silently({ scope: 'openid email', claims: claimsOf({ email: null, phone_number: null }) })).toBe('consent_required')
  await consents.withdraw(id, WEB.client_id)
  await authorize(server, { claims: claimsOf({ email: null }) }, agent)
  expect(await silently({ scope: 'openid email' })).toBe('consent_required')
}) // prettier-ignore

test('a line of a parameter of somebody else is remembered by its key, and its name keeps it apart', async () => {
  await authorize(server, { transfer: '100' }, agent)
  expect([await silently({ transfer: '100' }), await silently({ transfer: '1000' })]).toEqual([
    'code',
    'consent_required',
  ])
  await authorize(server, { transfer: 'email' }, agent)
  expect(await silently({ claims: claimsOf({ email: null }) })).toBe('consent_required')
})

test('what is for once is asked for however often it was allowed, and is nothing that an app keeps', async () => {
  await authorize(server, { gift: '5' }, agent)
  expect(await silently({ gift: '5' })).toBe('consent_required')
  for (let given = 0; given < 2; given++) {
    expect(await asked({ gift: '5' })).toContain('Give 5 EUR')
    expect((await authorize(server, { gift: '5' }, agent)).has('code')).toBe(true)
  }
  expect(await silently({})).toBe('code')
  expect((await consents.list(id)).map(({ lines }) => lines)).toEqual([[]])
  const [told] = (await server.server.oauth.audit.list({ type: 'consent.given' })).events
  expect(told?.details).toMatchObject({ lines: ['gift:5'] })
})

test('the lines of an app are bounded: where a request makes more, its own are remembered', async () => {
  for (const seats of ['1-60', '61-100']) await authorize(server, { seats }, agent)
  expect(await silently({ seats: '1-100' })).toBe('code')
  await authorize(server, { seats: '101-140' }, agent)
  expect(await silently({ seats: '101-140' })).toBe('code')
  expect(await silently({ seats: '1-1' })).toBe('consent_required')
  expect((await consents.list(id))[0]?.lines).toHaveLength(40)
})

test('names that no claim of a user can have, and those of the prototype, neither ask nor give anything', async () => {
  await authorize(server, {}, agent)
  expect(await silently({ claims: claimsOf({ sub: null, iss: null, authorization_id: null }) })).toBe('code')
  for (const name of ['constructor', 'toString', 'hasOwnProperty', 'valueOf'])
    expect(await silently({ claims: claimsOf({ [name]: null }) })).toBe('consent_required')
  const tokens = await tokensFor({ claims: claimsOf({ constructor: null, toString: null }) })
  expect(await userinfoOf(tokens)).toEqual({ sub: expect.any(String) })
})

test('what one user allowed is not another’s, nor one client’s another client’s', async () => {
  await authorize(server, { claims: claimsOf({ email: null }) }, agent)
  agent = createUserAgent(server.url)
  await goThrough(agent, await agent.get(authorizationUrl(server)), { ...ALICE, ...BOB })
  expect(await silently({ claims: claimsOf({ email: null }) })).toBe('consent_required')
})

test('a client that an administrator trusts asks nobody, for claims either', async () => {
  await authorize(server, {}, agent)
  expect(await silently({ client_id: 'trusted', claims: claimsOf(everything) })).toBe('code')
})

test('what was remembered before lines were says nothing of them', async () => {
  await authorize(server, {}, agent)
  await consents.withdraw(id, WEB.client_id)
  await server.database.query(`insert into consents (user_id, client_id, scopes, resources)
    values ('${id}', 'web', '{openid}', '{}')`)
  expect(await silently({})).toBe('code')
  expect(await silently({ claims: claimsOf({ email: null }) })).toBe('consent_required')
})

test('an Authorization of a version that did not ask releases what its scopes hold, and nothing else', async () => {
  const tokens = await tokensFor({ scope: 'openid email' })
  const claims = { userinfo: { phone_number: null, email: null }, id_token: { phone_number: null } }
  await server.database.query(
    `update authorizations set parameters = parameters || jsonb_build_object('claims', $1::jsonb)
     where revoked_at is null`,
    [JSON.stringify(claims)],
  )
  const renewed = (await (await refresh(server, tokens.refresh_token)).json()) as Tokens
  expect(await userinfoOf(renewed)).toEqual({
    sub: expect.any(String),
    email: ALICE.email,
    email_verified: true,
  })
  expect(decodeJwt(renewed.id_token)).not.toHaveProperty('phone_number')
})

test('withdrawn, lines are asked for again, and what a refresh would give has ended', async () => {
  const parameters = { claims: claimsOf({ email: null }) }
  const tokens = await tokensFor(parameters)
  expect(await userinfoOf((await (await refresh(server, tokens.refresh_token)).json()) as Tokens)).toHaveProperty('email')
  await consents.withdraw(id, WEB.client_id)
  expect((await refresh(server, tokens.refresh_token)).status).toBe(400)
  expect(await silently(parameters)).toBe('consent_required')
  await authorize(server, {}, agent)
  expect(await silently(parameters)).toBe('consent_required')
}) // prettier-ignore

test('the account’s page of apps says what was allowed in the words that were read', async () => {
  await authorize(server, { transfer: '7', claims: claimsOf({ email: null }) }, agent)
  const { body } = await agent.get(`${server.url}/account/apps`)
  for (const line of ['Transfer 7 EUR', 'Your email address']) expect(body).toContain(line)
})

const both = { scope: 'openid api:read' }

test('allowed for one resource, a request that names none is for more, and asked for', async () => {
  await authorize(server, { ...both, resource: server.url }, agent)
  expect([await silently({ ...both, resource: server.url }), await silently({ scope: 'openid' })]).toEqual(['code', 'code'])
  expect([await silently(both), await silently({ ...both, resource: API })]).toEqual(['consent_required', 'consent_required'])
  const page = await asked(both)
  expect(page).toMatch(/able to use The API Read at the API/)
  const { access_token: token } = await tokensFor(both)
  expect(decodeJwt(token).aud).toEqual([server.url, API])
  expect(await silently(both)).toBe('code')
}) // prettier-ignore

test('allowed without a resource, each of them may be named', async () => {
  await authorize(server, both, agent)
  for (const resource of [server.url, API]) expect(await silently({ ...both, resource })).toBe('code')
  expect((await consents.find(id, { clientId: WEB.client_id })).resources).toEqual(new Set([server.url, API]))
})

test('of a user who is deleted at that moment nothing is remembered, and the app is told that access is denied', async () => {
  const client = (await server.server.oauth.findClient(WEB.client_id))!
  const given = { client, scopes: new Set(['openid']), resources: [], parameters: {} }
  const remembered = consents.remember(crypto.randomUUID(), given)
  await expect(remembered).rejects.toThrow(expect.objectContaining({ code: 'access_denied' }))
})

test('a scope that moves to another resource is asked for again', async () => {
  await authorize(server, { scope: 'openid read_books' }, agent)
  await server.server.oauth.resources.saveScope({ name: 'read_books', resource: API })
  expect(await silently({ scope: 'openid read_books' })).toBe('consent_required')
  expect(await silently({ scope: 'openid read_books', resource: server.url })).toBe('code')
  await server.server.oauth.resources.saveScope({ name: 'read_books', resource: null })
})

test('what an earlier version remembered without a resource is for all of its scopes’', async () => {
  await authorize(server, both, agent)
  await server.database.query(
    `update consents set resources = '{}', consent_id = '${NIL}' where client_id = 'web'`,
  )
  for (const resource of [undefined, server.url, API])
    expect(await silently({ ...both, resource })).toBe('code')
  expect(await silently({ scope: 'openid api:read read_books' })).toBe('consent_required')
})

const PERSON = /You are signed in as <strong><bdi>([^<]*)/

async function leave(page: Page): Promise<Page> {
  const again = await agent.submit(page, 'not-you')
  expect(findForm(again, 'login')).toBeDefined()
  return again
}

test('who is not the one that is signed in answers the same request as themselves', async () => {
  const allowed = await authorize(server, {}, agent)
  expect(allowed.has('code')).toBe(true)
  const page = await agent.get(
    authorizationUrl(server, { scope: 'openid email', state: 'kept', nonce: 'n-1' }),
  )
  expect(PERSON.exec(page.body)?.[1]).toBe(ALICE.name)
  const answer = answerOf(await goThrough(agent, await leave(page), BOB))
  expect(answer.get('state')).toBe('kept')
  const { id_token: idToken } = (await (await exchange(server, answer.get('code')!)).json()) as Tokens
  expect(decodeJwt(idToken)).toMatchObject({ email: BOB.email, nonce: 'n-1' })
  // Whoever comes back to the page is asked as who is signed in now, whatever stood on it.
  expect((await agent.submit(page, 'consent', { decision: 'allow' })).status).toBe(403)
  expect(await consents.find(id, { clientId: WEB.client_id })).toMatchObject({ scopes: new Set(['openid']) })
})

test('who thinks better of it is still who they were', async () => {
  const page = await agent.get(authorizationUrl(server))
  const asked = await agent.submit(page, 'login', { username: ALICE.username, password: ALICE.password })
  await leave(asked)
  const answer = answerOf(await agent.submit(asked, 'consent', { decision: 'allow' }))
  expect(answer.has('code')).toBe(true)
})

test('a request that is for one person asks nobody else', async () => {
  const { id_token: hint } = await tokensFor({})
  const claims = JSON.stringify({ id_token: { sub: { value: decodeJwt(hint).sub } } })
  for (const parameters of [{ id_token_hint: hint }, { claims }]) {
    const page = await agent.get(authorizationUrl(server, { scope: 'openid email', ...parameters }))
    expect(findForm(page, 'consent')).toBeDefined()
    expect(findForm(page, 'not-you')).toBeUndefined()
    const { action, fields } = findForm(page, 'consent')!
    const sent = await agent.post(
      new URL(action.replace('/consent?', '/consent.not-you?'), page.url).href,
      fields,
    )
    expect(sent.status).toBe(400)
    expect(findForm(sent, 'consent')).toBeDefined()
  }
})

test('the first form of each page is the one that programs which read no ids send', async () => {
  const first = (page: Page): string | undefined => /<form id="([^"]*)"/.exec(page.body)?.[1]
  const login = await agent.get(authorizationUrl(server))
  expect(first(login)).toBe('login')
  const { username, password } = ALICE
  expect(first(await agent.submit(login, 'login', { username, password }))).toBe('consent')
})

test('where nothing is listed, it is said what the app learns', async () => {
  const toConsent = async (scope: string): Promise<string> => {
    const browser = createUserAgent(server.url)
    const page = await browser.get(authorizationUrl(server, { scope }))
    const { username, password } = ALICE
    return (await browser.submit(page, 'login', { username, password })).body
  }
  expect(await toConsent('openid')).toContain('It learns who you are here.')
  expect(await toConsent('openid email')).not.toContain('It learns who you are here.')
})
