/** What interactions cost the database: nothing for strangers, and little for each session. */
import { randomBytes } from 'node:crypto'
import { expect, test } from 'vitest'
import { spawnBeside } from '../support/beside.ts'
import { startServer } from '../support/server.ts'
import { answerOf, authorizationUrl, authorize, goThrough, SEED } from '../support/sign-in.ts'
import { createUserAgent, findForm } from '../support/user-agent.ts'
import { formOn } from './forms.ts'

const server = await startServer({}, { seed: SEED })
/** What no compression makes shorter. */
const noise = (length: number): string => randomBytes(length).toString('base64url').slice(0, length)

/** Rows of every table, less the counts by the hour, which begin with the server. */
async function rows(): Promise<Record<string, number>> {
  const tables = await server.database.query<{ name: string }>(
    `select table_name as name from information_schema.tables where table_schema = current_schema() and table_name <> 'activity'`,
  )
  const counts = await Promise.all(
    tables.map(async ({ name }) => {
      const [row] = await server.database.query<{ n: number }>(`select count(*)::int as n from "${name}"`)
      return [name, row!.n] as const
    }),
  )
  return Object.fromEntries(counts)
}

const interactionRows = async (): Promise<number> => (await rows())['artifacts']!

test('strangers store nothing, however much they ask for, and however often they look at the page', async () => {
  const before = await rows()
  await Promise.all(
    Array.from({ length: 16 }, async () => {
      for (let n = 0; n < 6; n++) {
        const agent = createUserAgent(server.url)
        const page = await agent.get(authorizationUrl(server, { state: noise(4096), nonce: noise(900) }))
        expect([page.status, findForm(page, 'login') === undefined]).toEqual([200, false])
        expect(findForm(await agent.get(page.url), 'login')).toBeDefined()
      }
    }),
  )
  expect(await rows()).toEqual(before)
})

test('a stranger whose request has everything at its longest signs in, through addresses that proxies take', async () => {
  const agent = createUserAgent(server.url)
  const asked = { state: noise(4096), nonce: noise(1024), login_hint: 'alice', prompt: 'consent' }
  const page = await agent.get(authorizationUrl(server, asked))
  const { action } = findForm(page, 'login')!
  // A request line of nginx has 8192 characters.
  for (const address of [page.url, action]) expect(`POST ${address} HTTP/1.1`.length).toBeLessThan(8192)
  const answer = answerOf(await goThrough(agent, page))
  expect([answer.get('state'), answer.has('code')]).toEqual([asked.state, true])
})

test('what is too long to travel is refused to the app, and not shortened', async () => {
  const claims = JSON.stringify({
    id_token: Object.fromEntries(Array.from({ length: 20 }, () => [noise(195), null])),
  })
  const asked = { state: noise(4096), nonce: noise(1024), claims }
  const answer = answerOf(await createUserAgent(server.url).get(authorizationUrl(server, asked)))
  expect([answer.get('error'), answer.get('state')]).toEqual(['invalid_request', asked.state])
  expect(answer.get('error_description')).toMatch(/^the request is too long/)
})

test('who is signed in has as many rows as they have pages open, and at most 32', async () => {
  const agent = createUserAgent(server.url)
  await authorize(server, {}, agent)
  const before = await interactionRows()
  const asked = { prompt: 'consent', state: noise(4096) }
  const pages = await Promise.all(
    Array.from({ length: 60 }, async () => agent.get(authorizationUrl(server, asked))),
  )
  expect(await interactionRows()).toBe(before)
  for (const page of pages) {
    const answer = answerOf(await agent.submit(page, 'consent', { decision: 'allow' }))
    expect([answer.get('state'), answer.has('code')]).toEqual([asked.state, true])
  }
  expect((await interactionRows()) - before).toBeLessThanOrEqual(32)
  const others = createUserAgent(server.url)
  await authorize(server, {}, others)
  const [{ bytes }] = (await server.database.query(
    `select max(pg_column_size(artifacts.*)) as bytes from artifacts`,
  )) as [{ bytes: number }]
  expect(bytes).toBeLessThan(600)
})

test('one whose row gave way to newer ones goes on, and is asked again', async () => {
  const agent = createUserAgent(server.url)
  await authorize(server, {}, agent)
  const first = await agent.get(authorizationUrl(server, { prompt: 'login' }))
  const next = await agent.submit(first, 'login', { username: 'alice', password: 'correct horse battery staple' })
  expect(answerOf(next).has('code')).toBe(true)
  for (let n = 0; n < 33; n++) {
    const page = await agent.get(authorizationUrl(server, { prompt: 'consent' }))
    await agent.submit(page, 'consent', { decision: 'allow' })
  }
  const again = await agent.get(first.url)
  expect(findForm(again, 'login')).toBeDefined()
}) // prettier-ignore

test('a process that never heard of an interaction goes on with it', async () => {
  const beside = await spawnBeside(server.settings, server.database)
  const agent = createUserAgent(server.url)
  const begun = await agent.get(authorizationUrl(server, { prompt: 'consent', state: 'of two' }))
  const there = (url: string): string => url.replace(server.url, beside.url)
  const other = createUserAgent(beside.url, { origin: server.url })
  for (const [name, value] of agent.cookies) other.cookies.set(name, value)
  const login = formOn(await other.get(there(begun.url)), other, {
    username: 'alice',
    password: 'correct horse battery staple',
  })
  const consent = await other.post(login.action, login.fields)
  for (const [name, value] of other.cookies) agent.cookies.set(name, value)
  const back = await agent.get(consent.url.replace(beside.url, server.url))
  expect(answerOf(await agent.submit(back, 'consent', { decision: 'allow' })).get('state')).toBe('of two')
  await beside.stop()
})

test('one that began under the SECRET_KEY before goes on, until that key has gone', async () => {
  const { PORT: _, OIDC_ISSUER, SECRET_KEY: former, ...settings } = server.settings
  const next = randomBytes(32).toString('hex')
  const at = async (SECRET_KEY: string) => {
    const later = await startServer({ ...settings, OIDC_ISSUER, SECRET_KEY }, { database: server.database })
    return `http://127.0.0.1:${later.settings.PORT}`
  }
  const agent = createUserAgent(server.url)
  const begun = await agent.get(authorizationUrl(server, { state: 'rotated' }))
  const [both, without] = [await at(`${next},${String(former)}`), await at(next)]
  const other = createUserAgent(both, { origin: server.url })
  for (const [name, value] of agent.cookies) other.cookies.set(name, value)
  const login = await other.get(begun.url.replace(server.url, both))
  expect(answerOf(await goThrough(other, login)).get('state')).toBe('rotated')
  expect((await other.get(begun.url.replace(server.url, without))).status).toBe(400)
})
