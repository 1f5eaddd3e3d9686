/** A type of authorization details that is taken from a client: whatever was allowed before, it is given no more (RFC 9396 §5). */
import { decodeJwt } from 'jose'
import { beforeEach, describe, expect, test } from 'vitest'
import { ACCOUNTS, addBank, asking, BANK, BUDGET, PAYMENT } from '../../../support/bank.ts'
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
import { createUserAgent } from '../../../support/user-agent.ts'

const TYPES = ['payment', 'accounts', 'budget']
const seed = { ...SEED, clients: [{ ...BANK, authorization_details_types: TYPES }] }
const server = await startServer({}, { seed, extend: addBank })
const { clients } = server.server.oauth

const leave = async (...types: string[]) => clients.update('bank', { authorization_details_types: types })
beforeEach(async () => leave(...TYPES))

type Said = Record<string, unknown>
async function told(form: Record<string, string>): Promise<Said> {
  const response = await server.post('/token', form, basic('bank', WEB.client_secret))
  return (await response.json()) as Said
}
const exchanged = async (code: string): Promise<Said> =>
  told({ grant_type: 'authorization_code', code, redirect_uri: REDIRECT_URI })
const refreshed = async ({ refresh_token }: Said): Promise<Said> =>
  told({ grant_type: 'refresh_token', refresh_token: String(refresh_token) })

/** The page that asks whether `details` are allowed; with `scope` undefined, they alone. */
async function asked(scope: string | undefined, ...details: object[]) {
  const agent = createUserAgent(server.url)
  const page = await agent.get(authorizationUrl(server, { client_id: 'bank', scope, ...asking(...details) }))
  const { username, password } = ALICE
  return { agent, page: await agent.submit(page, 'login', { username, password }) }
}

async function codeFor(scope: string | undefined, ...details: object[]): Promise<string> {
  const { agent, page } = await asked(scope, ...details)
  return answerOf(await goThrough(agent, page)).get('code')!
}

describe.each([
  ['beside a scope', 'openid'],
  ['alone', undefined],
])('%s', (_how, scope) => {
  test('a refresh gives what is left, and all again where it is given back', async () => {
    const tokens = await exchanged(await codeFor(scope, PAYMENT, ACCOUNTS))
    await leave('payment')
    const less = await refreshed(tokens)
    expect(less['authorization_details']).toEqual([PAYMENT])
    expect(decodeJwt(String(less['access_token']))['authorization_details']).toEqual([PAYMENT])
    await leave('payment', 'accounts')
    expect((await refreshed(less))['authorization_details']).toEqual([PAYMENT, ACCOUNTS])
  })

  test('a code that is on its way gives what is left', async () => {
    const code = await codeFor(scope, PAYMENT, ACCOUNTS, BUDGET)
    await leave('payment', 'budget')
    expect((await exchanged(code))['authorization_details']).toEqual([PAYMENT, BUDGET])
  })

  test('a page that was open gives what is left', async () => {
    const { agent, page } = await asked(scope, PAYMENT, { ...ACCOUNTS, accounts: ['DE3333'] })
    await leave('payment')
    const code = answerOf(await agent.submit(page, 'consent', { decision: 'allow' })).get('code')!
    await leave(...TYPES)
    const tokens = await exchanged(code)
    expect(tokens['authorization_details']).toEqual([PAYMENT])
  })
})

test('where nothing is left, there is no token, and none is spent', async () => {
  const [tokens, code] = [await exchanged(await codeFor(undefined, ACCOUNTS)), await codeFor(undefined, ACCOUNTS)]
  const { agent, page } = await asked(undefined, PAYMENT)
  await leave('budget')
  expect(await refreshed(tokens)).toMatchObject({ error: 'invalid_scope' })
  expect(await exchanged(code)).toMatchObject({ error: 'invalid_scope' })
  const answer = answerOf(await agent.submit(page, 'consent', { decision: 'allow' }))
  expect(answer.get('error')).toBe('invalid_scope')
  await leave('accounts')
  for (const one of [await refreshed(tokens), await exchanged(code)])
    expect(one['authorization_details']).toEqual([ACCOUNTS])
}) // prettier-ignore

test('with a scope beside it, the token is for that alone', async () => {
  const tokens = await exchanged(await codeFor('openid', ACCOUNTS))
  await leave()
  const next = await refreshed(tokens)
  expect(next).toMatchObject({ scope: 'openid' })
  expect(next).not.toHaveProperty('authorization_details')
  expect(decodeJwt(String(next['access_token']))).not.toHaveProperty('authorization_details')
})
