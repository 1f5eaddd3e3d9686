/**
 * Whoever comes by an upstream with an address that it is not believed about: they show by a mail that it is theirs, and nobody learns from a
 * page who has an account with it.
 * @needs latchkey-upstreams, latchkey-mail
 */
import { describe, expect, test } from 'vitest'
import { kernelOf } from '../../../src/http/kernel-of.ts'
import { linkIn, openMailbox } from '../../support/mailbox.ts'
import { startLyingProvider } from '../../support/lying-provider.ts'
import { startBeside, startServer } from '../../support/server.ts'
import { ALICE, answerOf, authorizationUrl, goThrough, SEED } from '../../support/sign-in.ts'
import { allow } from '../../support/upstreams.ts'
import { createUserAgent, findForm, type Page, type UserAgent } from '../../support/user-agent.ts'

const SECRET = 'what the upstream gave us'
const provider = await startLyingProvider('us', SECRET)
const registered = { issuer: provider.issuer, client_id: 'us', client_secret: SECRET, sign_up: true }
const seed = { ...SEED, upstreams: [{ ...registered, id: 'club', name: 'Club' }] }
const server = await startServer({ UNSAFE_OUTBOUND_ORIGINS: provider.issuer }, { seed })
const beside = await startBeside(server)
// Mails are read where they are sent.
await kernelOf(beside.server).courier.stop()
const { users, audit } = server.server.oauth
const mailbox = openMailbox(server)
const [CONFIRM, EXISTING] = ['Confirm your email address', 'You have an account already']
let count = 0

interface Came {
  agent: UserAgent
  /** The sign-in page that they left. */
  login: Page
  page: Page
  sub: string
  /** What came back in the address. */
  answer: Readonly<Record<'code' | 'state', string>>
}

/** Back from the upstream, which says this address of them. */
async function comeWith(
  email: string,
  {
    at = server,
    agent = createUserAgent(at.url),
    sub = `sub-${++count}`,
    userinfo = {},
    claims = {},
    asking = {},
  } = {},
): Promise<Came> {
  const login = await agent.get(authorizationUrl(at, asking))
  const left = await agent.submit(login, 'upstreams', { upstream: 'club' })
  const asked = new URL(left.headers.get('location')!).searchParams
  const answer = { code: `code-of-${sub}`, state: asked.get('state')! }
  const lie = { claims, userinfo: { email, email_verified: true, ...userinfo } }
  provider.tell(sub, asked.get('nonce')!, lie, answer.code)
  const query = new URLSearchParams(answer).toString()
  return { agent, login, sub, answer, page: await agent.get(`${at.url}/upstream/club/callback?${query}`) }
}
/** By her hand, in a browser of hers. */
async function linkWithAlice(sub: string): Promise<void> {
  const owner = createUserAgent(server.url)
  await goThrough(owner, await owner.get(`${server.url}/account`))
  const page = await owner.get(`${server.url}/account/linked-sign-ins`)
  const left = await owner.submit(page, 'link', { upstream: 'club' })
  const asked = new URL(left.headers.get('location')!).searchParams
  provider.tell(sub, asked.get('nonce')!, {})
  const query = new URLSearchParams({ code: 'c', state: asked.get('state')! })
  const linked = await owner.get(`${server.url}/upstream/club/callback?${query.toString()}`)
  expect(linked.url).toContain('done=linked')
}
const newcomer = () => `newcomer-${++count}@example.org`
const linkFor = async (email: string): Promise<string> => linkIn(await mailbox.next(email, CONFIRM))

describe('who has an account', () => {
  test('is said by no page: an address that is somebody’s and one that is nobody’s are answered alike', async () => {
    await users.create({ username: 'ursula', email: 'ursula@example.org' })
    const disabled = await users.create({ username: 'dirk', email: 'dirk@example.org', email_verified: true })
    await users.disable(disabled.username)
    const addresses = [ALICE.email, 'ursula@example.org', 'dirk@example.org', newcomer()]
    const pages: Page[] = []
    for (const email of addresses) pages.push((await comeWith(email)).page)
    const [first] = pages
    expect([first!.status, first!.body]).toEqual([200, expect.stringContaining('Check your email')])
    for (const { status, url, body } of pages)
      expect([status, url, body]).toEqual([200, first!.url, first!.body])
  })

  test('is said by the mail, to whoever reads those of the address; nobody is linked or made', async () => {
    const alice = (await users.find(ALICE.username))!
    const { agent } = await comeWith(ALICE.email.toUpperCase())
    const { text } = await mailbox.next(ALICE.email.toUpperCase(), EXISTING)
    expect(text).toContain('Somebody signed in at')
    expect(text).toContain('link Club on its page Security')
    expect(text).not.toContain('/upstream/confirm')
    expect(await users.waysIn(alice.id)).toEqual(['password'])
    expect((await users.search(ALICE.email)).found).toHaveLength(1)
    expect(new URL((await agent.get(`${server.url}/account`)).url).pathname).not.toBe('/account')
  })

  test('who says the address of somebody who asks to see once more that it is them gets no account', async () => {
    const email = newcomer()
    const first = await comeWith(email)
    const page = await first.agent.get(await linkFor(email))
    answerOf(await allow(first.agent, await first.agent.submit(page, 'confirm')))
    const { agent } = first
    const again = await agent.get(authorizationUrl(server, { prompt: 'login' }))
    const left = await agent.submit(again, 'upstreams', { upstream: 'club' })
    const asked = new URL(left.headers.get('location')!).searchParams
    provider.tell(`sub-${++count}`, asked.get('nonce')!, {})
    const before = await server.database.query('select id from users')
    const query = new URLSearchParams({ code: 'c', state: asked.get('state')! })
    const told = await agent.get(`${server.url}/upstream/club/callback?${query.toString()}`)
    expect(told.body).toContain('you signed in as somebody else than here')
    expect(await server.database.query('select id from users')).toEqual(before)
  })
})

test('who is sent a mail is answered once: what came back is not in the log, and the sign-in page says nothing of many tries', async () => {
  const agent = createUserAgent(server.url)
  await goThrough(agent, await agent.get(authorizationUrl(server)))
  const [email, logged] = [newcomer(), server.output().length]
  // Of who is signed in here, what the page says is stored.
  const { login, page, answer } = await comeWith(email, { agent, asking: { prompt: 'select_account' } })
  expect(page.body).toContain('Check your email')
  // By then, whatever else would be done for the request has been.
  await linkFor(email)
  const again = await agent.get(login.url)
  expect([again.status, findForm(again, 'upstreams') === undefined]).toEqual([200, false])
  expect(again.body).not.toContain('There were too many tries')
  const log = server.output().slice(logged)
  expect(log).toContain('/upstream/:id/callback')
  for (const text of ['ALREADY_SENT', answer.code, answer.state]) expect(log).not.toContain(text)
})

describe('the link', () => {
  test('makes the account, with the address confirmed, and leads on to the app; once more it is spent', async () => {
    const email = newcomer()
    const { agent, page, sub } = await comeWith(email, {
      userinfo: { name: 'Nora', preferred_username: 'nora' },
    })
    expect(page.body).toContain('Check your email')
    expect(await users.findByEmail(email)).toBeNull()
    const link = await linkFor(email)
    const shown = await agent.get(link)
    expect(await users.findByEmail(email)).toBeNull()
    // Browsers follow a form to where its page allows: an app that asks for nothing more is at the end of this one.
    expect(shown.headers.get('content-security-policy')).not.toContain('form-action')
    const answer = answerOf(await allow(agent, await agent.submit(shown, 'confirm')))
    expect(answer.has('code')).toBe(true)
    const user = (await users.findByEmail(email))!
    expect(user).toMatchObject({ username: 'nora', claims: { name: 'Nora', email, email_verified: true } })
    expect(await users.waysIn(user.id)).toEqual(['upstream-link'])
    expect((await agent.get(link)).status).toBe(410)
    // From now on they come by the upstream alone.
    const again = await comeWith(email, { sub })
    answerOf(await allow(again.agent, again.page))
    expect((await audit.list({ type: 'user.upstream_linked', user: user.id })).events).toHaveLength(1)
  })

  test('is mailed however much the upstream says in its ID token, and makes the account', async () => {
    const { upstreams } = kernelOf(server.server)
    await upstreams.save({ id: 'club', sign_out: true })
    const email = newcomer()
    const claims = { groups: Array.from({ length: 1000 }, (_, at) => `a group of theirs ${at}`) }
    const { agent, page } = await comeWith(email, { claims })
    expect([page.status, page.body]).toEqual([200, expect.stringContaining('Check your email')])
    const shown = await agent.get(await linkFor(email))
    answerOf(await allow(agent, await agent.submit(shown, 'confirm')))
    expect(await users.findByEmail(email)).not.toBeNull()
    await upstreams.save({ id: 'club', sign_out: null })
  })

  test('is good for nothing in another browser: whoever says an address of somebody else gets no account of theirs', async () => {
    const email = newcomer()
    const { agent } = await comeWith(email)
    const link = await linkFor(email)
    const owner = createUserAgent(server.url)
    const page = await owner.get(link)
    expect(page.body).not.toContain('id="confirm"')
    expect([page.status, page.body]).toEqual([
      200,
      expect.stringContaining('Open this link in the other browser'),
    ])
    // Nor by the form of the page that the other browser has.
    const form = await agent.get(link)
    const token = new URL(link).searchParams.get('token')!
    const csrf = /name="csrf_token" value="([^"]+)"/.exec(form.body)![1]!
    const forged = await owner.post(`${server.url}/upstream/confirm`, { token, csrf_token: csrf })
    expect(forged.status).toBeGreaterThanOrEqual(400)
    expect(await users.findByEmail(email)).toBeNull()
    // It is not used up by that.
    answerOf(await allow(agent, await agent.submit(form, 'confirm')))
  })

  test('of clicks at once, at two processes, and of one whose answer was lost, one account comes, and each leads on', async () => {
    const email = newcomer()
    const { agent } = await comeWith(email)
    const link = await linkFor(email)
    const page = await agent.get(link)
    const body = {
      token: new URL(link).searchParams.get('token')!,
      csrf_token: /name="csrf_token" value="([^"]+)"/.exec(page.body)![1]!,
    }
    const cookie = [...agent.cookies].map(([name, value]) => `${name}=${value}`).join('; ')
    const sent = [server, beside, server, beside].map(async ({ post }) =>
      post('/upstream/confirm', body, { cookie, origin: server.url }),
    )
    const again = async () => server.post('/upstream/confirm', body, { cookie, origin: server.url })
    const answers = [...(await Promise.all(sent)), await again()]
    expect(answers.map(({ status }) => status)).toEqual([303, 303, 303, 303, 303])
    const { found } = await users.search(email)
    expect(found).toHaveLength(1)
    const sessions = async () =>
      server.database.query('select from sessions where user_id = $1', [found[0]!.id])
    expect(await sessions()).toHaveLength(1)
    // Whoever has signed out since is signed in by nothing that was sent before.
    await server.database.query('delete from sessions where user_id = $1', [found[0]!.id])
    await again()
    expect(await sessions()).toEqual([])
  })

  test('without an app to go back to signs in who is new, and not to an account that the sign-in was linked with meanwhile', async () => {
    const [email, other] = [newcomer(), newcomer()]
    const arrive = async (address: string): Promise<Page & { agent: UserAgent; sub: string }> => {
      const { agent, sub } = await comeWith(address)
      const link = await linkFor(address)
      await server.database.query(
        `update artifacts set value = jsonb_set(value, '{back}', '""') where kind = 'upstream-newcomer'`,
      )
      return { agent, sub, ...(await agent.get(link)) }
    }
    const fresh = await arrive(email)
    await fresh.agent.submit(fresh, 'confirm')
    expect(new URL((await fresh.agent.get(`${server.url}/account`)).url).pathname).toBe('/account')

    const late = await arrive(other)
    await linkWithAlice(late.sub)
    const told = await late.agent.submit(late, 'confirm')
    expect([told.status, told.body]).toEqual([200, expect.stringContaining('Your account is there')])
    expect(new URL((await late.agent.get(`${server.url}/account`)).url).pathname).not.toBe('/account')
    expect(await users.findByEmail(other)).toBeNull()
  })

  test('of an address that somebody has by now makes nothing, and says so to whoever reads its mails', async () => {
    const email = newcomer()
    const { agent } = await comeWith(email)
    const page = await agent.get(await linkFor(email))
    const owner = await users.create({ username: email.split('@', 1)[0]!, email, email_verified: true })
    const told = await agent.submit(page, 'confirm')
    expect([told.status, told.body]).toEqual([
      410,
      expect.stringContaining('There is an account here already'),
    ])
    expect(await users.waysIn(owner.id)).toEqual([])
  })

  test('proves who they are once they are linked in another way, unless everything of theirs has ended since they came', async () => {
    const alice = (await users.find(ALICE.username))!
    const comeAndLink = async () => {
      const email = newcomer()
      const { agent, sub } = await comeWith(email)
      const page = await agent.get(await linkFor(email))
      await linkWithAlice(sub)
      return { agent, page }
    }
    const there = await comeAndLink()
    answerOf(await allow(there.agent, await there.agent.submit(there.page, 'confirm')))

    const { agent, page } = await comeAndLink()
    await users.revokeTokens({ id: alice.id })
    const told = await agent.submit(page, 'confirm')
    expect([told.status, told.body]).toEqual([410, expect.stringContaining('or you were signed out since')])
    expect(new URL((await agent.get(`${server.url}/account`)).url).pathname).not.toBe('/account')
  })

  test('is good no more once the upstream may not sign people up', async () => {
    const email = newcomer()
    const { agent } = await comeWith(email)
    const page = await agent.get(await linkFor(email))
    const { upstreams } = kernelOf(server.server)
    await upstreams.save({ id: 'club', sign_up: false })
    const told = await agent.submit(page, 'confirm')
    await upstreams.save({ id: 'club', sign_up: true })
    expect([told.status, told.body]).toEqual([
      410,
      expect.stringContaining('is not linked with an account here'),
    ])
    expect(await users.findByEmail(email)).toBeNull()
  })
})

test('one address is mailed ten times, whoever says it; then they wait, and may sign in another way on the page', async () => {
  const email = newcomer()
  const pages: Page[] = []
  for (let round = 0; round < 11; round++) pages.push((await comeWith(email)).page)
  expect(pages.slice(0, 10).every(({ body }) => body.includes('Check your email'))).toBe(true)
  const last = pages.at(-1)!
  expect([last.body, findForm(last, 'login') === undefined]).toEqual([
    expect.stringContaining('There were too many tries with your address of'),
    false,
  ])
  expect(await mailbox.all(email)).toHaveLength(10)
})

test('where no mail can be sent, the address is kept as what somebody said, whoever has it', async () => {
  const silent = await startServer(
    {
      UNSAFE_OUTBOUND_ORIGINS: provider.issuer,
      WITHOUT: 'latchkey-mail,latchkey-notices,latchkey-forgot-password,latchkey-invitation',
    },
    { seed },
  )
  const { oauth } = silent.server
  for (const email of [ALICE.email, newcomer()]) {
    const preferred_username = `silent-${++count}`
    const { agent, page } = await comeWith(email, { at: silent, userinfo: { preferred_username } })
    answerOf(await allow(agent, page))
    expect((await oauth.users.find(preferred_username))!.claims).toMatchObject({
      email,
      email_verified: false,
    })
  }
  expect((await oauth.users.findByEmail(ALICE.email))!.username).toBe(ALICE.username)
})
