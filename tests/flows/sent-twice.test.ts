/** A form of an interaction that is sent twice at once, as by a double click: the person goes on with whichever answer they get. */
import { expect, test } from 'vitest'
import { startServer } from '../support/server.ts'
import { ALICE, answerOf, authorizationUrl, BOB, goThrough, SEED } from '../support/sign-in.ts'
import { createUserAgent, findForm, type Page, type UserAgent } from '../support/user-agent.ts'

const server = await startServer({}, { seed: SEED })
const SESSION = 'latchkey-session'

interface Sent {
  agent: UserAgent
  page: Page
}

/** The login form sent by the same browser at the same time, once as each of them; what each of the two then has. */
async function signInTwice(users: readonly Pick<typeof ALICE, 'username' | 'password'>[], asked: Record<string, string> = {}): Promise<Sent[]> {
  const browser = createUserAgent(server.url)
  const login = await browser.get(authorizationUrl(server, { scope: 'openid read_books', ...asked }))
  return Promise.all(
    users.map(async ({ username, password }) => {
      const agent = browser.clone()
      return { agent, page: await agent.submit(login, 'login', { username, password }) }
    }),
  )
} // prettier-ignore

test.each([
  [0, 0],
  [0, 1],
  [1, 0],
  [1, 1],
])('answer %i of a double click on "Sign in" goes on with the session of answer %i', async (shown, kept) => {
  const sent = await signInTwice([ALICE, ALICE], { prompt: 'consent' })
  expect(sent.map(({ page }) => [page.status, findForm(page, 'consent') !== undefined])).toEqual([
    [200, true],
    [200, true],
  ])
  const [token, other] = sent.map(({ agent }) => agent.cookies.get(SESSION))
  expect(token).not.toBe(other)
  const { agent, page } = sent[shown]!
  agent.cookies.set(SESSION, sent[kept]!.agent.cookies.get(SESSION)!)
  expect(answerOf(await agent.submit(page, 'consent', { decision: 'allow' })).has('code')).toBe(true)
  // Now it is done, and only now that is said.
  expect((await agent.get(page.url)).body).toMatch(/<h1>This step is done<\/h1>/)
})

test('where a fresh sign-in was asked for, the one that came second is asked once more, and goes on', async () => {
  const sent = await signInTwice([ALICE, ALICE], { prompt: 'login consent' })
  const steps = sent.map(({ page }) => (findForm(page, 'consent') === undefined ? 'login' : 'consent'))
  expect(steps.toSorted()).toEqual(['consent', 'login'])
  const { agent, page } = sent[steps.indexOf('login')]!
  expect(answerOf(await goThrough(agent, page)).has('code')).toBe(true)
})

test('of two users at once, neither allows with the form that the other was shown', async () => {
  const sent = await signInTwice([ALICE, BOB], { prompt: 'consent' })
  expect(sent.map(({ page }) => findForm(page, 'consent') !== undefined)).toEqual([true, true])
  const [alice, bob] = sent as [Sent, Sent]
  expect((await bob.agent.submit(alice.page, 'consent', { decision: 'allow' })).status).toBe(403)
  expect((await alice.agent.submit(bob.page, 'consent', { decision: 'allow' })).status).toBe(403)
  expect(answerOf(await bob.agent.submit(bob.page, 'consent', { decision: 'allow' })).has('code')).toBe(true)
})
