/**
 * The pages of passkeys say all of their words by messages: signing in with one, keeping them, and the administration.
 * @needs latchkey-passkeys
 */
import { expect, test } from 'vitest'
import { setUpFactor } from '../../support/authenticator.ts'
import { ALICE, authorizationUrl, BOB, SEED } from '../../support/sign-in.ts'
import { makePasskey } from '../../support/soft-authenticator.ts'
import { createUserAgent, findForm, type UserAgent } from '../../support/user-agent.ts'
import { age, signedIn } from '../account/owner.ts'
import { addPasskey, optionsIn, signed, signInWith, startAtLocalhost } from '../passkeys/passkeys.ts'
import { expectSaid, PSEUDO_HEADERS } from './shown.ts'
import { isThere } from '../../support/left-out.ts'

const ROOT = { username: 'root', password: 'the long password of root', roles: ['admin'] }
const server = await startAtLocalhost({}, { seed: { ...SEED, users: [ALICE, BOB, ROOT] } })
const { oauth } = server.server
const PART = '<section class="part" aria-labelledby="passkeys"'
/** What a passkey is called, and what stands in labels of it. */
const KNOWN = ['Passkey 2', 'Passkey']

const reader = async (person: { username: string; password: string }): Promise<UserAgent> =>
  signedIn(server, person, PSEUDO_HEADERS)
const securityOf = async (agent: UserAgent, query = '') => agent.get(`${server.url}/account/security${query}`)

test('the part of the page of security, empty, full, with what was done and what was not', async () => {
  const agent = await reader(ALICE)
  const empty = await securityOf(agent)
  expectSaid(empty, [], PART)
  const { page } = await addPasskey(server, agent)
  expectSaid(page, KNOWN, PART)
  expectSaid((await addPasskey(server, agent, { syncable: true, synced: true })).page, KNOWN, PART)
  expectSaid(await agent.submit(page, 'rename-passkey-0', { name: '' }), KNOWN, PART)
  expectSaid(await agent.submit(page, 'rename-passkey-0', { name: 'Key' }), ['Key', ...KNOWN], PART)
  for (const done of ['too-late', 'refused', 'taken', 'last'])
    expectSaid(await securityOf(agent, `?passkeys=${done}`), ['Key', ...KNOWN], PART)
  expectSaid(await agent.submit(await securityOf(agent), 'delete-passkey-0'), KNOWN, PART)
  await age(server, 700)
  expectSaid(await securityOf(agent), KNOWN, PART)
})

test('as many as there can be', async () => {
  const agent = await reader(BOB)
  for (let has = 0; has < 20; has++) await addPasskey(server, agent)
  const full = await securityOf(agent)
  expect(findForm(full, 'add-passkey-form')).toBeUndefined()
  expectSaid(full, Array.from({ length: 20 }, (_, at) => `Passkey ${20 - at}`).concat(KNOWN), PART)
})

test('the offer on the overview', async () => {
  const username = 'new'
  const password = 'a long password of theirs'
  await oauth.users.create({ username, password })
  const page = await (await reader({ username, password })).get(`${server.url}/account`)
  expectSaid(page, [], '<section class="part" id="passkey-offer"')
})

test('at sign-in, refused and too late', async () => {
  const agent = createUserAgent(server.url, PSEUDO_HEADERS)
  const page = await agent.get(authorizationUrl(server, { client_id: 'web' }))
  expectSaid(page, ['web', 'app.example'])
  const passkey = (await addPasskey(server, await signedIn(server))).passkey
  const credential = signed(page, passkey)
  expectSaid(await agent.submit(page, 'passkey-form', { credential: 'none' }), ['web', 'app.example'])
  expectSaid(await agent.submit(page, 'passkey-form', { credential, issued: 'then' }), ['web', 'app.example'])
})

test('where one is shown beside a password', async () => {
  const password = { username: ALICE.username, password: ALICE.password }
  const own = await signedIn(server)
  const { passkey } = await addPasskey(server, own)
  const agent = createUserAgent(server.url, PSEUDO_HEADERS)
  const login = await agent.get(authorizationUrl(server, { acr_values: 'phr' }))
  const page = await agent.submit(login, 'login', password)
  expect(findForm(page, 'login')).toBeUndefined()
  expectSaid(page)
  expectSaid(await signInWith(agent, page, passkey, { verifies: false }))
  const made = makePasskey(optionsIn(await securityOf(own), 'add-passkey-form'), {
    origin: new URL(server.url).origin,
  })
  expectSaid(await signInWith(agent, page, made.passkey))
})

test.runIf(isThere('latchkey-second-factor'))('where one is shown in the place of a code', async () => {
  const user = { username: 'of-both', password: 'a long password of both' }
  await oauth.users.create(user)
  const own = await signedIn(server, user)
  await addPasskey(server, own)
  await setUpFactor(own, server.url)
  const agent = createUserAgent(server.url, PSEUDO_HEADERS)
  const code = await agent.submit(await agent.get(`${server.url}/account`), 'login', user)
  expectSaid(code)
  const page = await agent.get(`${code.url}&way=recovery`)
  expectSaid(page)
  expectSaid(await agent.submit(page, 'passkey-form', { credential: 'none' }))
})

test('on the page of a user in the administration', async () => {
  const admin = await reader(ROOT)
  const partOf = async (username: string, query = '') =>
    admin.get(`${server.url}/admin/user?id=${(await oauth.users.find(username))!.id}${query}`)
  expectSaid(await partOf(ROOT.username), [], PART)
  const page = await partOf(ALICE.username)
  expectSaid(page, KNOWN, PART)
  expectSaid(await partOf(ALICE.username, '&passkey=last'), KNOWN, PART)
  expectSaid(await admin.submit(page, 'delete-passkey-0'), KNOWN, PART)
})
