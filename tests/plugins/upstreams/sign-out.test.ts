/**
 * Signing out at the upstream too, where it is registered so: there and back, by whichever way somebody leaves.
 * @needs latchkey-upstreams
 */
import { expect, test } from 'vitest'
import { kernelOf } from '../../../src/http/kernel-of.ts'
import { noBrowser } from '../../support/browser.ts'
import { newPerson, signIn } from '../../support/people.ts'
import { ALICE, authorizationUrl, BOB, goThrough, SEED, WEB } from '../../support/sign-in.ts'
import {
  allow,
  answerFrom,
  startBelow,
  startUpstream,
  traveller,
  type Traveller,
} from '../../support/upstreams.ts'
import { createUserAgent, findForm, type Page } from '../../support/user-agent.ts'

// Whom their upstreams name no address of, so that none has to be confirmed.
const ANN = { username: ALICE.username, password: ALICE.password }
const CARL = { username: 'carl', password: 'a third long password' }
const AFTER = 'https://app.example/signed-out'
const clients = [{ ...WEB, post_logout_redirect_uris: [AFTER] }]
const { server, upstreams } = await startBelow(
  async (url) => {
    const corp = await startUpstream('corp', url, [ANN], { sign_up: true, sign_out: true })
    const plain = await startUpstream('plain', url, [CARL], { sign_up: true })
    for (const one of [corp, plain])
      await one.server.server.oauth.clients.update(one.client_id as string, {
        post_logout_redirect_uris: [`${url}/upstream/${one.id}/signed-out`],
      })
    return [corp, plain]
  },
  {},
  { seed: { ...SEED, users: [BOB], clients } },
)
const [corp, plain] = upstreams as [(typeof upstreams)[number], (typeof upstreams)[number]]
const { oauth } = server.server

/** Signed in by the upstream, on the account's page. */
async function arrive(upstream = corp, user: typeof CARL = ALICE): Promise<Traveller> {
  const who = traveller(server, upstream)
  const page = await who.here.get(authorizationUrl(server))
  await allow(who.here, await who.here.get(await answerFrom(who, page, upstream.id, user)))
  expect(await isHere(who)).toBe(true)
  return who
}
const isThere = async ({ there }: Traveller, { issuer } = corp): Promise<boolean> =>
  new URL((await there.get(`${issuer}/account`)).url).pathname === '/account'
const isHere = async ({ here }: Traveller): Promise<boolean> =>
  new URL((await here.get(`${server.url}/account`)).url).pathname === '/account'
const leave = async ({ here }: Traveller): Promise<Page> =>
  here.submit(await here.get(`${server.url}/account`), 'sign-out-form')

test('a page of ours leads there, nobody is signed in any more, and they come back', async () => {
  const who = await arrive()
  const page = await leave(who)
  const [, to] = /^0;url=(.+)$/.exec(page.headers.get('refresh')!)!
  expect([page.status, page.body]).toEqual([200, expect.stringContaining('You are signed out here')])
  expect([await isHere(who), new URL(to!).origin]).toEqual([false, corp.issuer])
  const back = await who.there.get(to!)
  expect(await isThere(who)).toBe(false)
  const end = await who.here.get(back.headers.get('location')!)
  expect(end.body).toContain('id="signed-out"')
  // What led back is spent.
  expect((await who.here.get(back.headers.get('location')!)).body).toContain('id="signed-out"')
})

test('an app gets them back, with its state', async () => {
  const who = await arrive()
  const asked = new URLSearchParams({
    client_id: WEB.client_id,
    post_logout_redirect_uri: AFTER,
    state: 'of the app',
  })
  const form = await who.here.get(`${server.url}/end-session?${asked.toString()}`)
  const page = await who.here.submit(form, 'end-session')
  const [, to] = /^0;url=(.+)$/.exec(page.headers.get('refresh')!)!
  const back = await who.there.get(to!)
  const end = await who.here.get(back.headers.get('location')!)
  expect(end.headers.get('location')).toBe(`${AFTER}?state=of+the+app`)
  expect(await isThere(who)).toBe(false)
})

test('an app that registered itself gets them back too, by this browser', async () => {
  await oauth.clients.create({ ...WEB, client_id: 'itself', post_logout_redirect_uris: [AFTER] })
  await server.database.query(`update clients set registrar = 'anybody' where client_id = 'itself'`)
  await oauth.clients.update('itself', { client_name: 'Itself' })
  const who = await arrive()
  const asked = new URLSearchParams({ client_id: 'itself', post_logout_redirect_uri: AFTER })
  const form = await who.here.get(`${server.url}/end-session?${asked.toString()}`)
  const page = await who.here.submit(form, 'end-session')
  const [, to] = /^0;url=(.+)$/.exec(page.headers.get('refresh')!)!
  const back = await who.there.get(to!)
  const end = await who.here.get(back.headers.get('location')!)
  expect(end.headers.get('location')).toBe(AFTER)
  const stranger = await createUserAgent(server.url).get(`${server.url}/end-session?${asked.toString()}`)
  expect([stranger.status, stranger.headers.get('location')]).toEqual([200, null])
})

test('who came another way, from an upstream without it, or is somebody else by now, stays here', async () => {
  const bob = createUserAgent(server.url)
  await goThrough(bob, await bob.get(`${server.url}/account`), BOB)
  const other = await arrive(plain, CARL)
  const changed = await arrive()
  // Somebody else has signed in with the browser since.
  const login = await changed.here.get(`${server.url}/sign-in?account=other&return_to=/account`)
  await goThrough(changed.here, login, BOB)
  for (const here of [bob, other.here, changed.here]) {
    const page = await leave({ here, there: other.there })
    expect([page.headers.get('refresh'), page.body]).toEqual([
      null,
      expect.stringContaining('id="signed-out"'),
    ])
  }
  expect(await isThere(other, plain)).toBe(true)
})

test('an upstream that is gone, or was told to stay out of it meanwhile, keeps nobody from signing out', async () => {
  const [gone, told] = [await arrive(), await arrive()]
  const { upstreams: registry } = kernelOf(server.server)
  await registry.save({ id: 'corp', sign_out: null })
  expect((await leave(told)).body).toContain('id="signed-out"')
  await registry.save({ id: 'corp', sign_out: true })
  const { issuer } = corp
  await registry.save({ id: 'corp', issuer: 'http://localhost:1' })
  const page = await leave(gone)
  expect([page.status, page.body, await isHere(gone)]).toEqual([
    200,
    expect.stringContaining('id="signed-out"'),
    false,
  ])
  await registry.save({ id: 'corp', issuer })
})

test('the ID token of one provider is shown to no other one that has its id by now', async () => {
  const who = await arrive()
  const { upstreams: registry } = kernelOf(server.server)
  await registry.save({ id: 'corp', issuer: plain.issuer })
  const page = await leave(who)
  await registry.save({ id: 'corp', issuer: corp.issuer })
  expect([page.headers.get('refresh'), page.body, await isHere(who)]).toEqual([
    null,
    expect.stringContaining('id="signed-out"'),
    false,
  ])
})

test('who comes with an ID token that no SECRET_KEY opens signs out here alone', async () => {
  const who = await arrive()
  await server.database.query(
    `update artifacts set value = jsonb_set(value, '{idToken}', '"AAAAAAAA.AAAA"') where kind = 'upstream-session'`,
  )
  const page = await leave(who)
  expect([page.status, page.body, await isHere(who), await isThere(who)]).toEqual([
    200,
    expect.stringContaining('id="signed-out"'),
    false,
    true,
  ])
})

test('the ID token is sealed, and gone with the user', async () => {
  const who = await arrive()
  const rows = async () =>
    server.database.query<{ value: { idToken: string; user: string } }>(
      `select value from artifacts where kind = 'upstream-session' and spent_at is null`,
    )
  const kept = await rows()
  expect(kept.length).toBeGreaterThan(0)
  // Three letters of a JWT are in what is sealed now and then; two parts of one are not.
  expect(JSON.stringify(kept)).not.toMatch(/eyJ[\w-]+\.eyJ/)
  const { username } = await oauth.users.get(kept.at(-1)!.value.user)
  expect(JSON.stringify(await oauth.users.export(kept.at(-1)!.value.user))).toContain('"upstream":"corp"')
  await oauth.users.delete(username)
  expect(await rows()).toEqual([])
  expect(findForm(await who.here.get(`${server.url}/account`), 'login')).toBeDefined()
})

test('a stranger’s state leads nowhere but to us', async () => {
  const page = await createUserAgent(server.url).get(
    `${server.url}/upstream/corp/signed-out?state=${'A'.repeat(43)}`,
  )
  expect([page.status, page.body]).toEqual([200, expect.stringContaining('id="signed-out"')])
})

test.skipIf(noBrowser)(
  'in Chromium, by the button at the top of a page, with scripts and without',
  async () => {
    for (const javaScriptEnabled of [true, false]) {
      const person = await newPerson({ javaScriptEnabled })
      const { page, said } = person
      await page.goto(`${server.url}/account`)
      await page.click('#upstream-corp')
      await signIn(person, ALICE)
      await page.waitForSelector('#allow, #signed-in-as')
      if (await page.isVisible('#allow')) await page.click('#allow')
      await page.waitForURL(`${server.url}/account`)
      await page.click('#sign-out-here')
      await page.waitForSelector('#signed-out')
      expect(new URL(page.url()).origin).toBe(server.url)
      await page.goto(`${corp.issuer}/account`)
      await page.waitForSelector('#login')
      expect(said).toEqual([])
    }
  },
)
