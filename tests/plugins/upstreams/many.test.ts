/**
 * How many sign-ins can be linked with one account: twenty, whoever asks for more, at whichever process, and however many at once.
 * @needs latchkey-upstreams
 */
import { beforeAll, expect, test } from 'vitest'
import { startLyingProvider } from '../../support/lying-provider.ts'
import { startServer } from '../../support/server.ts'
import { authorizationUrl, BOB, SEED } from '../../support/sign-in.ts'
import { createUserAgent, findForm, type Page } from '../../support/user-agent.ts'
import { signedIn } from '../account/owner.ts'

const MOST = 20
const provider = await startLyingProvider('us', 'a secret')
const upstream = {
  id: 'corp',
  issuer: provider.issuer,
  client_id: 'us',
  client_secret: 'a secret',
  name: 'Corp',
  domains: ['corp.example'],
  trust_email: true,
}
/** Believed about the same addresses. */
const other = await startLyingProvider('us', 'a secret')
/** Without a userinfo endpoint, which would tell of whoever came last. */
const metadata = { userinfo_endpoint: undefined }
provider.tell('', '', { metadata })
const outbound = { UNSAFE_OUTBOUND_ORIGINS: `${provider.issuer},${other.issuer}` }
const upstreams = [upstream, { ...upstream, id: 'other', issuer: other.issuer, name: 'Other' }]
const server = await startServer(outbound, { seed: { ...SEED, upstreams } })
const { SECRET_KEY } = server.settings
const beside = await startServer(
  { ...outbound, SECRET_KEY, OIDC_ISSUER: server.url },
  { database: server.database },
)
const { users } = server.server.oauth
const bob = await signedIn(server, BOB)
const pageOf = async (): Promise<Page> => bob.get(`${server.url}/account/linked-sign-ins`)
const linked = (page: Page): number => page.body.match(/<form id="unlink-/g)?.length ?? 0
const linkedNow = async (): Promise<number> => linked(await pageOf())

/** Where the browser comes back to as `subject`, at one of the processes. */
async function leave(page: Page, subject: string, at = server.url, agent = bob): Promise<string> {
  const left = await agent.submit(page, 'link', { upstream: 'corp' })
  const asked = new URL(left.headers.get('location')!).searchParams
  const state = asked.get('state')!
  provider.tell(subject, asked.get('nonce')!, { metadata }, `code of ${state}`)
  return `${at}/upstream/corp/callback?${new URLSearchParams({ code: `code of ${state}`, state }).toString()}`
}

beforeAll(async () => {
  for (let one = 1; one < MOST; one++) await bob.get(await leave(await pageOf(), `subject-${one}`))
})

test('of those that come back at once to two processes, one is linked, and the others read why they are not', async () => {
  const page = await pageOf()
  expect(linked(page)).toBe(MOST - 1)
  const answers = []
  for (let one = 0; one < 4; one++)
    answers.push(await leave(page, `late-${one}`, one % 2 === 0 ? server.url : beside.url))
  const pages = await Promise.all(answers.map(async (answer) => bob.clone().get(answer)))
  expect(pages.map(({ status }) => status)).toEqual([200, 200, 200, 200])
  expect(pages.filter(({ body }) => body.includes('It is linked'))).toHaveLength(1)
  const full = pages.filter(({ body }) => body.includes('<bdi>Corp</bdi> is not linked with your account.'))
  expect(full).toHaveLength(3)
  for (const { body } of full)
    expect(body).toContain('as many linked sign-ins as there can be. Unlink one that you do not need')
  expect(await linkedNow()).toBe(MOST)
})

test('then the page offers no other one, and who sends its former form is not led away', async () => {
  const page = await pageOf()
  expect([linked(page), findForm(page, 'link')]).toEqual([MOST, undefined])
  expect(page.body).toContain('id="linked-full"')
  // The page Security names the upstream once.
  expect((await bob.get(`${server.url}/account/security`)).body.match(/<bdi>Corp<\/bdi>/g)).toHaveLength(1)
  await bob.submit(page, 'unlink-0')
  const before = await pageOf()
  expect([linked(before), before.body.includes('id="linked-full"')]).toEqual([MOST - 1, false])
  await bob.get(await leave(before, 'the last one'))
  const refused = await bob.submit(before, 'link', { upstream: 'corp' })
  expect([refused.status, findForm(refused, 'link')]).toEqual([400, undefined])
  expect(refused.body).toMatch(/id="linked-error" role="alert"><bdi>Corp<\/bdi> is not linked/)
})

test('one that is linked already is called so, and so is one of somebody else', async () => {
  await bob.submit(await pageOf(), 'unlink-0')
  const room = await pageOf()
  const [last, again, theirs] = [
    await leave(room, 'last'),
    await leave(room, 'last'),
    await leave(room, 'of alice'),
  ]
  const alice = await signedIn(server)
  const shown = await alice.get(`${server.url}/account/linked-sign-ins`)
  expect((await alice.get(await leave(shown, 'of alice', server.url, alice))).body).toContain('It is linked')
  expect((await bob.get(last)).body).toContain('It is linked')
  expect((await bob.get(again)).body).toContain('It was linked with your account already.')
  expect((await bob.get(theirs)).body).toContain('is linked with another account here already')
  expect(await linkedNow()).toBe(MOST)
})

test('who comes by a verified address to an account that has as many is told so, and not signed in', async () => {
  await users.update(BOB.username, { email: 'bob@corp.example', email_verified: true })
  const agent = createUserAgent(server.url)
  const left = await agent.submit(await agent.get(authorizationUrl(server)), 'upstreams', {
    upstream: 'other',
  })
  const asked = new URL(left.headers.get('location')!).searchParams
  const claims = { email: 'bob@corp.example', email_verified: true }
  other.tell('new', asked.get('nonce')!, { metadata, claims })
  const page = await agent.get(
    `${server.url}/upstream/other/callback?${new URLSearchParams({ code: 'c', state: asked.get('state')! }).toString()}`,
  )
  expect([page.status, findForm(page, 'login')?.fields['username']]).toEqual([200, ''])
  expect(page.body).toMatch(
    /id="upstreams-error"[^>]*>The account here with your address of <bdi>Other<\/bdi> has as many/,
  )
  expect(new URL((await agent.get(`${server.url}/account`)).url).pathname).toBe('/sign-in')
  expect(await linkedNow()).toBe(MOST)
})
