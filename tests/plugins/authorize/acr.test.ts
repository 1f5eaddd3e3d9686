/**
 * How sure an app may ask the server to be: by `acr_values`, by an essential `acr`, by its registration. Two factors stand for those that
 * there will be: a PIN that everybody knows, and a key that one person has.
 */
import type { FastifyInstance } from 'fastify'
import { decodeJwt } from 'jose'
import { expect, test } from 'vitest'
import { basic } from '../../support/requests.ts'
import { startServer } from '../../support/server.ts'
import {
  ALICE,
  answerOf,
  authorizationUrl,
  BOB,
  REDIRECT_URI,
  goThrough,
  SEED,
  WEB,
} from '../../support/sign-in.ts'
import { createUserAgent, findForm, type Page, type UserAgent } from '../../support/user-agent.ts'

const KEEN = { ...BOB, roles: ['has-a-key'] }
const VAULT = { ...WEB, client_id: 'vault', minimum_acr_value: '2' }
const CAUTIOUS = { ...WEB, client_id: 'cautious', default_acr_values: ['2'] }

async function addFactors({ oauth, pages }: FastifyInstance): Promise<void> {
  const add = pages.add as (name: string, file: URL, options: object) => Promise<void>
  await add('pin', new URL('pin.eta', import.meta.url), { kind: 'interaction' })
  const asks = (wanted: string, missing: readonly { acr?: readonly string[] }[]): boolean =>
    missing.some(({ acr }) => acr?.includes(wanted))
  oauth.add('interactionStep', {
    name: 'last',
    phase: 'authenticate',
    lastResort: true,
    required: 'login_required',
    run: async ({ missing }) => (asks('2', missing) ? { page: 'pin', model: { wrong: false } } : 'done'),
    reaches: { acr: ['2'] },
    submit: async () => ({ note: {}, shown: { amr: ['otp', 'mfa'], acr: '2' } }),
  })
  oauth.add('interactionStep', {
    name: 'key',
    phase: 'authenticate',
    required: 'login_required',
    // The browser shows it by itself.
    run: async ({ missing, session }) => {
      const user = session === null ? null : await oauth.findUser(session.userId)
      const has = user?.roles.includes('has-a-key') ?? false
      return has && asks('phr', missing) ? { shown: { amr: ['hwk', 'user'], acr: 'phr' } } : 'done'
    },
    reaches: { acr: ['phr'], by: ({ roles }) => roles.includes('has-a-key') },
    submit: async () => ({ note: {} }),
  })
}

const seed = { ...SEED, users: [ALICE, KEEN], clients: [WEB, VAULT, CAUTIOUS] }
const build = { without: ['latchkey-second-factor', 'latchkey-upstreams'] }
const server = await startServer({}, { seed, extend: addFactors, build })

type Person = Pick<typeof ALICE, 'username' | 'password'>
interface Told {
  acr?: string
  amr: string[]
}

const claimsOf = (acr: object): string => JSON.stringify({ id_token: { acr } })

/** Through every page, giving what is asked. */
async function through(agent: UserAgent, page: Page, { username, password }: Person = ALICE): Promise<Page> {
  let at = page
  if (findForm(at, 'login')) at = await agent.submit(at, 'login', { username, password })
  if (findForm(at, 'pin')) at = await agent.submit(at, 'pin', { pin: 'x' })
  return goThrough(agent, at)
}

async function told(agent: UserAgent, asked: Record<string, string>, user?: Person): Promise<Told> {
  const answer = answerOf(await through(agent, await agent.get(authorizationUrl(server, asked)), user))
  const form = { grant_type: 'authorization_code', code: answer.get('code')!, redirect_uri: REDIRECT_URI }
  const response = await server.post('/token', form, basic(asked['client_id'] ?? 'web', WEB.client_secret))
  const { id_token } = (await response.json()) as { id_token: string }
  return decodeJwt(id_token)
}

test.each([
  ['nothing', {}, '1', ['pwd']],
  ['2', { acr_values: '2' }, '2', ['pwd', 'otp', 'mfa']],
  ['what nobody reaches, then 2', { acr_values: 'urn:made:up 2' }, '2', ['pwd', 'otp', 'mfa']],
  ['what this person does not reach, then 1', { acr_values: 'phr 1' }, '1', ['pwd']],
  ['what nobody reaches', { acr_values: 'urn:made:up' }, '1', ['pwd']],
  ['1 rather than 2', { acr_values: '1 2' }, '1', ['pwd']],
  ['a claim that is not essential', { claims: claimsOf({ values: ['2'] }) }, '2', ['pwd', 'otp', 'mfa']],
  [
    'one that is',
    { claims: claimsOf({ essential: true, values: ['phr', '2'] }) },
    '2',
    ['pwd', 'otp', 'mfa'],
  ],
  [
    'one that is, as a number',
    { claims: claimsOf({ essential: true, value: 2 }) },
    '2',
    ['pwd', 'otp', 'mfa'],
  ],
  ['by its registration, 2 at the least', { client_id: 'vault' }, '2', ['pwd', 'otp', 'mfa']],
  [
    'more by its registration than by its wish',
    { client_id: 'vault', acr_values: '1' },
    '1',
    ['pwd', 'otp', 'mfa'],
  ],
  ['by its registration, 2 as a wish', { client_id: 'cautious' }, '2', ['pwd', 'otp', 'mfa']],
  ['another wish than the registered one', { client_id: 'cautious', acr_values: '1' }, '1', ['pwd']],
])('an app that asks for %s', async (_what, asked, acr, amr) => {
  expect(await told(createUserAgent(server.url), asked as Record<string, string>)).toMatchObject({ acr, amr })
})

test('what is stronger satisfies what asks for less, without another page; the token tells what was asked for', async () => {
  const agent = createUserAgent(server.url)
  expect(await told(agent, { acr_values: 'phr' }, KEEN)).toMatchObject({ acr: 'phr', amr: ['pwd', 'hwk', 'user'] })
  for (const [asked, acr] of [[{ acr_values: '2' }, '2'], [{ client_id: 'vault' }, 'phr'], [{}, 'phr'], [{ claims: claimsOf({ essential: true, value: '1' }) }, '1']] as const) {
    expect(await told(agent, asked)).toMatchObject({ acr, amr: ['pwd', 'hwk', 'user'] })
    const silent = answerOf(await agent.get(authorizationUrl(server, { ...asked, prompt: 'none' })))
    expect([asked, silent.get('error')]).toEqual([asked, null])
  }
}) // prettier-ignore

test.each([
  ['that cannot be reached', ['phr']],
  ['of one value of none', []],
])('a demand %s is an error for the app, also without a page', async (_what, values) => {
  const agent = createUserAgent(server.url)
  const claims = claimsOf({ essential: true, values })
  await told(agent, {})
  const page = await through(agent, await agent.get(authorizationUrl(server, { claims })))
  expect(answerOf(page).get('error')).toBe('unmet_authentication_requirements')
  const silent = await agent.get(authorizationUrl(server, { claims, prompt: 'none' }))
  expect(answerOf(silent).get('error')).toBe('unmet_authentication_requirements')
})

const NONE = { prompt: 'none' }
test('for an app that wants no page a wish requires nothing, and its token tells what was reached (§5.5.1.1)', async () => {
  const agent = createUserAgent(server.url)
  await told(agent, {})
  for (const wish of [
    { acr_values: '2' },
    { claims: claimsOf({ values: ['2'] }) },
    { client_id: 'cautious' },
  ])
    expect(await told(agent, { ...NONE, ...wish })).toMatchObject({ acr: '1', amr: ['pwd'] })
  // Where a page may be shown, it is.
  expect(findForm(await agent.get(authorizationUrl(server, { acr_values: '2' })), 'pin')).toBeDefined()
})

test('a sign-in that a wish has left unfinished is none, also where nothing is required any more', async () => {
  const agent = createUserAgent(server.url)
  const page = await agent.get(authorizationUrl(server, { acr_values: '2' }))
  const { username, password } = ALICE
  expect(findForm(await agent.submit(page, 'login', { username, password }), 'pin')).toBeDefined()
  for (const asked of [{}, { acr_values: '2' }]) {
    const silent = await agent.get(authorizationUrl(server, { ...NONE, ...asked }))
    expect(answerOf(silent).get('error')).toBe('login_required')
  }
})

test.each([
  ['a demand', { claims: claimsOf({ essential: true, value: '2' }) }],
  ['its registration', { client_id: 'vault' }],
])('where %s needs a page, an app that wants none is told that', async (_what, asked) => {
  const agent = createUserAgent(server.url)
  await told(agent, {})
  const silent = await agent.get(authorizationUrl(server, { ...NONE, ...asked }))
  expect(answerOf(silent).get('error')).toBe('login_required')
})

test('what can be reached stands in the metadata, the weakest first, by what is registered', async () => {
  const supported = async ({ get }: typeof server): Promise<unknown> =>
    ((await (await get('/.well-known/openid-configuration')).json()) as Record<string, unknown>)[
      'acr_values_supported'
    ]
  expect(await supported(server)).toEqual(['1', '2', 'phr'])
  const less = await startServer({}, { build })
  expect(await supported(less)).toEqual(['1'])
  const least = await startServer({}, { build: { without: [...build.without, 'latchkey-password-sign-in'] } })
  expect(await supported(least)).toBeUndefined()
})

test('a registration demands a value that there is', async () => {
  const { clients } = server.server.oauth
  await expect(clients.create({ minimum_acr_value: '3' })).rejects.toThrow('minimum_acr_value')
  expect((await clients.find('vault'))!['minimum_acr_value']).toBe('2')
})
