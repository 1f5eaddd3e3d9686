/**
 * Whether an account exists is not to be learned where a password was forgotten, at sign-up, by a change of the address, nor by an upstream: every address gets one answer, for one and
 * the same work. Whose it is, is looked up behind the request. How long it takes is measured by `bench/account-timing.ts`.
 */
import assert from 'node:assert/strict'
import argon2 from 'argon2'
import { beforeAll, describe, expect, test, vi } from 'vitest'
import { kernelOf } from '../../src/http/kernel-of.ts'
import { askForCode, enterCode, MAIL_CODE } from '../support/mail-code.ts'
import { startServer } from '../support/server.ts'
import { startLyingProvider } from '../support/lying-provider.ts'
import { authorizationUrl, BOB, SEED } from '../support/sign-in.ts'
import { createUserAgent, type Page } from '../support/user-agent.ts'
import { signedIn } from '../plugins/account/owner.ts'
import { isThere, rowsWith } from '../support/left-out.ts'
import { until } from '../support/until.ts'

const SECRET = 'what the upstream gave us'
const provider = await startLyingProvider('us', SECRET)
const upstream = {
  id: 'club',
  issuer: provider.issuer,
  client_id: 'us',
  client_secret: SECRET,
  sign_up: true,
}
const server = await startServer(
  { ...MAIL_CODE, OIDC_SIGN_UP: 'on', UNSAFE_OUTBOUND_ORIGINS: provider.issuer, OIDC_JANITOR_INTERVAL: 0 },
  { seed: { ...SEED, upstreams: [upstream] } },
)
const kernel = kernelOf(server.server)
/** Of one length each: known, of nobody, of a disabled one, not verified. */
const ADDRESSES = ['alice@example.com', 'alicf@example.com', 'alicd@example.com', 'alicu@example.com']
const PASSWORD = 'a password of their own'
/** What is read and written every second or so, whoever asks: changes, waits, and what was counted. */
const BY_THE_CLOCK = /^(?:change.*|throttles-blocked|activity-count|outbox-crowded)$/
const asked: string[] = []
const hashes = vi.spyOn(argon2, 'hash')

beforeAll(async () => {
  await kernel.users.create({ username: 'd', email: 'alicd@example.com', email_verified: true })
  await kernel.users.disable('d')
  await kernel.users.create({ username: 'u', email: 'alicu@example.com' })
  // What is done behind requests would be counted with them.
  await kernel.courier.stop()
  const { database } = kernel
  const { query, transaction } = database
  const counted = (run: typeof query): typeof query => async (statement, values) => {
    asked.push(statement.name)
    return run(statement, values)
  }
  Object.assign(database, {
    query: counted(query),
    transaction: async (work: (run: typeof query) => Promise<unknown>) =>
      transaction(async (run) => work(counted(run))),
  })
  // What was made here is read once more by the change feed, half a second later: not beside what is asked.
  await until(() => assert(asked.filter((one) => one === 'changes-since').length > 1))
}) // prettier-ignore

const agent = createUserAgent(server.url)

type Row = [form: string, others: Record<string, string>, hashed: number]

describe.each<Row>([
  ...rowsWith<Row[]>('latchkey-forgot-password', [['forgot-password', {}, 0]]),
  // The name is taken, or is not.
  ...rowsWith<Row[]>('latchkey-sign-up', [
    ['sign-up', { username: 'alice', password: PASSWORD }, 1],
    ['sign-up', { username: 'alicf', password: PASSWORD }, 1],
  ]),
])('%s %j', (name, others, hashed) => {
  async function ask(email: string): Promise<{ page: Page; statements: string[] }> {
    const form = await agent.get(`${server.url}/${name}`)
    asked.length = 0
    hashes.mockClear()
    const page = await agent.submit(form, name, { ...others, email })
    expect(hashes).toHaveBeenCalledTimes(hashed)
    return { page, statements: asked.filter((one) => !BY_THE_CLOCK.test(one)) }
  }

  test('the answer is the same, and so are the statements that it takes', async () => {
    await ask('first@example.com')
    const answers = []
    for (const address of ADDRESSES) answers.push(await ask(address))
    const [first] = answers
    expect(first!.page.status).toBe(200)
    expect(first!.statements).toContain('outbox-enqueue')
    expect(first!.statements.join(' ')).not.toMatch(/user|artifact/)
    for (const { page, statements } of answers) {
      expect(statements).toEqual(first!.statements)
      expect(page.body).toBe(first!.page.body)
      const headers = ({ headers: all }: Page) => [...all].filter(([header]) => header !== 'date')
      expect(headers(page)).toEqual(headers(first!.page))
    }
  })
})

test('who asks for another address at their account gets one answer, for the same statements, whosever it is', async () => {
  const bob = await signedIn(server, BOB)
  async function ask(email: string): Promise<{ page: Page; statements: string[] }> {
    const form = await bob.get(`${server.url}/account/email`)
    asked.length = 0
    const page = await bob.submit(form, 'change-email', { email })
    return { page, statements: asked.filter((one) => !BY_THE_CLOCK.test(one)) }
  }
  await ask('second@example.com')
  const answers = []
  for (const address of ADDRESSES) answers.push(await ask(address))
  const [first] = answers
  expect(first!.page.body).toContain('mail')
  expect(first!.statements).toContain('outbox-enqueue')
  // It says where the mail goes as it was typed.
  const said = ({ body }: Page, address: string): string =>
    body.replaceAll(/value="[^"]*"/g, '').replaceAll(address, '')
  for (const [at, { page, statements }] of answers.entries()) {
    expect(statements).toEqual(first!.statements)
    expect(page.body).toContain(ADDRESSES[at])
    expect(said(page, ADDRESSES[at]!)).toBe(said(first!.page, ADDRESSES[0]!))
  }
})

test.runIf(isThere('latchkey-upstreams'))(
  'whoever comes by an upstream that is not believed gets one answer, for the same statements, whosever address it says',
  async () => {
    let people = 0
    async function come(email: string): Promise<{ page: Page; statements: string[] }> {
      const stranger = createUserAgent(server.url)
      const form = await stranger.get(authorizationUrl(server))
      const left = await stranger.submit(form, 'upstreams', { upstream: upstream.id })
      const { searchParams } = new URL(left.headers.get('location')!)
      provider.tell(`sub-${++people}`, searchParams.get('nonce')!, {
        userinfo: { email, email_verified: true },
      })
      const query = new URLSearchParams({ code: 'c', state: searchParams.get('state')! })
      asked.length = 0
      const page = await stranger.get(`${server.url}/upstream/club/callback?${query.toString()}`)
      return { page, statements: asked.filter((one) => !BY_THE_CLOCK.test(one)) }
    }
    await come('third@example.com')
    const answers = []
    for (const address of ADDRESSES) answers.push(await come(address))
    const [first] = answers
    expect(first!.page.body).toContain('Check your email')
    expect(first!.statements).toContain('outbox-enqueue')
    for (const { page, statements } of answers)
      expect([page.url, page.body, statements]).toEqual([
        first!.page.url,
        first!.page.body,
        first!.statements,
      ])
  },
)

test.runIf(isThere('latchkey-mail-code'))(
  'whoever has a code mailed gets one answer, for the same statements, whosever the address is, and so does a wrong code',
  async () => {
    async function ask(email: string): Promise<{ pages: Page[]; statements: string[] }> {
      const stranger = createUserAgent(server.url)
      const form = await stranger.get(authorizationUrl(server))
      asked.length = 0
      const page = await askForCode(stranger, form, email)
      const pages = [page, await enterCode(stranger, page, '123456')]
      // What was observed is written a moment later, of everybody: not beside what the next one asks.
      await until(() => assert(asked.includes('audit-events-insert')))
      const told = asked.filter((one) => one !== 'audit-events-insert')
      return { pages, statements: told.filter((one) => !BY_THE_CLOCK.test(one)) }
    }
    await ask('fourth@example.com')
    const answers = []
    for (const address of ADDRESSES) answers.push(await ask(address))
    const said = (pages: readonly Page[], address: string) =>
      pages.map(({ status, body }) => [
        status,
        body.replaceAll(/(?:value|action)="[^"]*"/g, '').replaceAll(address, ''),
      ])
    const [first] = answers
    expect(first!.pages.map(({ status }) => status)).toEqual([200, 403])
    expect(first!.statements).toContain('outbox-enqueue')
    for (const [at, { pages, statements }] of answers.entries()) {
      expect(statements).toEqual(first!.statements)
      expect(said(pages, ADDRESSES[at]!)).toEqual(said(first!.pages, ADDRESSES[0]!))
    }
  },
)

test('nothing that is stored, logged or told names the address, or the password', async () => {
  const rows = JSON.stringify([
    await server.database.query('select * from outbox'),
    await server.database.query('select * from throttles'),
    await server.database.query(`select * from audit_events where type <> 'user.registered'`),
  ])
  for (const address of [...ADDRESSES.slice(1), PASSWORD])
    expect(rows + server.output()).not.toContain(address)
})
