/** An answer is checked once more when it is given: what was registered when its request came may be no more. */
import { afterEach, describe, expect, test } from 'vitest'
import { shownError } from '../support/error-page.ts'
import { startServer } from '../support/server.ts'
import { answerOf, authorizationUrl, exchange, REDIRECT_URI, SEED, WEB } from '../support/sign-in.ts'
import { createUserAgent } from '../support/user-agent.ts'
import { CONSENT, LOGIN, type OpenForm } from './forms.ts'

const server = await startServer({}, { seed: { ...SEED, scopes: [...SEED.scopes, { name: 'write_books' }] } })
const { clients, findClient } = server.server.oauth
const pageOf = ({ action }: OpenForm): string => action.replace(/\/[a-z]+\?/, '?')
const ORIGINAL = (await clients.find('web'))!

/** What an administrator does meanwhile; comes back when the server knows it. */
async function change(members: object): Promise<void> {
  await clients.save({ ...(await clients.find('web'))!, ...members })
  const registered = async () => {
    const { metadata, scope } = (await findClient('web'))!
    return { ...metadata, scope: [...scope] }
  }
  await expect.poll(registered).toMatchObject(members)
}

afterEach(async () => {
  const { redirect_uris, response_types, grant_types, scope } = ORIGINAL
  await change({ redirect_uris, response_types, grant_types, scope })
})

describe('a redirect URI that was removed', () => {
  test('gets neither a code nor an error, and whoever would have to sign in for it is told at once', async () => {
    const [allowed, denied, login] = [
      await CONSENT.open(server),
      await CONSENT.open(server),
      await LOGIN.open(server),
    ]
    await change({ redirect_uris: ['https://app.example/elsewhere'] })
    const answers = [
      allowed.agent.post(allowed.action, allowed.fields),
      denied.agent.post(denied.action, { ...denied.fields, decision: 'deny' }),
      login.agent.post(login.action, login.fields),
      login.agent.get(pageOf(login)),
      allowed.agent.get(pageOf(allowed)),
    ]
    for (const answer of answers) expect(await shownError(answer)).toEqual([400, 'invalid_request'])
    const [{ codes }] = (await server.database.query(
      'select count(*)::int as codes from authorization_codes',
    )) as [{ codes: number }]
    expect(codes).toBe(0)
  })

  test('and is back again gets the answer: nothing of it was spent', async () => {
    const form = await CONSENT.open(server)
    await change({ redirect_uris: ['https://app.example/elsewhere'] })
    expect(await shownError(form.agent.post(form.action, form.fields))).toEqual([400, 'invalid_request'])
    await change({ redirect_uris: [REDIRECT_URI] })
    expect(answerOf(await form.agent.post(form.action, form.fields)).has('code')).toBe(true)
  })
})

test.each([
  ['a response type', { response_types: [] }],
  ['a grant', { grant_types: ['client_credentials'] }],
])('%s that was taken away gives no code: the app is told', async (_name, members) => {
  const form = await CONSENT.open(server)
  await change(members)
  const page = await form.agent.post(form.action, form.fields)
  expect(page.headers.get('location')).toMatch(`${REDIRECT_URI}?`)
  expect(Object.fromEntries(answerOf(page))).toMatchObject({ error: 'unauthorized_client', state: 'a state' })
})

describe('a scope that was taken away', () => {
  async function consentFor(scope: string): Promise<OpenForm> {
    const agent = createUserAgent(server.url)
    await (await CONSENT.open(server, agent)).agent.get(server.url)
    const page = await agent.get(authorizationUrl(server, { prompt: 'consent', scope }))
    const [, action = ''] = /<form id="consent"[^>]* action="([^"]+)"/.exec(page.body) ?? []
    const [, csrf_token = ''] = /name="csrf_token" value="([^"]+)"/.exec(page.body) ?? []
    return { agent, action: new URL(action, page.url).href, fields: { csrf_token, decision: 'allow' } }
  }

  test('is not in the code that the rest gets', async () => {
    await change({ scope: ['read_books', 'write_books'] })
    const form = await consentFor('openid read_books write_books')
    await change({ scope: ['read_books'] })
    const code = answerOf(await form.agent.post(form.action, form.fields)).get('code')!
    const [{ granted }] = (await server.database.query(
      'select granted from authorization_codes order by expires_at desc limit 1',
    )) as [{ granted: { scopes: string[] } }]
    expect(granted.scopes).toEqual(['openid', 'read_books'])
    expect(await (await exchange(server, code)).json()).toMatchObject({ scope: 'openid read_books' })
  })

  test('and leaves nothing is invalid_scope', async () => {
    const form = await consentFor('read_books')
    await change({ scope: ['write_books'] })
    const answer = answerOf(await form.agent.post(form.action, form.fields))
    expect(Object.fromEntries(answer)).toMatchObject({ error: 'invalid_scope', state: 'a state' })
  })
})

test('a client that was deleted gets nothing', async () => {
  const client_id = 'short-lived'
  await clients.create({ ...WEB, client_id })
  const agent = createUserAgent(server.url)
  const page = await agent.get(authorizationUrl(server, { client_id }))
  await clients.delete(client_id)
  await expect.poll(async () => findClient(client_id)).toBeNull()
  expect(await shownError(agent.get(page.url))).toEqual([400, 'invalid_client'])
  const form = { username: 'alice', password: SEED.users[0]!.password }
  expect(await shownError(agent.submit(page, 'login', form))).toEqual([400, 'invalid_client'])
})
