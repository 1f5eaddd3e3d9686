/** An app that has registered itself, as people meet it: where they allow it, and where they administer. */
import { expect, test } from 'vitest'
import type { SelfRegistration } from '../../src/doors/self-registration.ts'
import { openClient, ROOT, signedIn } from '../plugins/admin/administrator.ts'
import { startServer } from '../support/server.ts'
import { ALICE, authorizationUrl, REDIRECT_URI, SEED } from '../support/sign-in.ts'
import { createUserAgent, findForm, type Page } from '../support/user-agent.ts'

const NOBODY = /has registered itself[^<]*nobody here has checked whose it is/
let apps: SelfRegistration
const server = await startServer({}, {
  seed: { ...SEED, users: [...SEED.users, ROOT] },
  extend({ oauth }) { apps = oauth.selfRegistration('apps', { most: 10 }) },
}) // prettier-ignore
const app = await apps!.create({ client_name: 'Photo Prints', redirect_uris: [REDIRECT_URI] })

async function consentPageOf(clientId: string): Promise<Page> {
  const agent = createUserAgent(server.url)
  const page = await agent.get(authorizationUrl(server, { client_id: clientId }))
  const next = await agent.submit(page, 'login', { username: ALICE.username, password: ALICE.password })
  expect(findForm(next, 'consent')).toBeDefined()
  return next
}

test('who is asked for consent is told that nobody has checked it', async () => {
  expect((await consentPageOf(app.client_id)).body).toMatch(NOBODY)
  expect((await consentPageOf('web')).body).not.toMatch(NOBODY)
})

test('one that is called like an app that people know is shown by its host, and its name as what it says', async () => {
  const liar = await apps.create({
    client_name: 'Web Shop',
    client_uri: 'https://shop.example/',
    logo_uri: 'https://shop.example/logo.png',
    redirect_uris: ['https://evil.example/callback'],
  })
  const agent = createUserAgent(server.url)
  const asking = { client_id: liar.client_id, redirect_uri: 'https://evil.example/callback' }
  const login = await agent.get(authorizationUrl(server, asking))
  const consent = await agent.submit(login, 'login', { username: ALICE.username, password: ALICE.password })
  for (const { body } of [login, consent]) {
    expect(body).toMatch(/id="client-claim">It calls itself “<bdi>Web Shop<\/bdi>”\./)
    expect(body).not.toMatch(/shop\.example|<img class="logo"/)
  }
  expect(consent.body).toMatch(/<h1><bdi>evil\.example<\/bdi> wants access to your account/)
  await agent.submit(consent, 'consent', { decision: 'allow' })
  const account = await agent.get(`${server.url}/account/apps`)
  expect(account.body).toMatch(/<h2><bdi>evil\.example<\/bdi><\/h2>/)
  expect(account.body).toContain('It registered itself.')
  expect((await agent.get(`${server.url}/account/activity`)).body).not.toContain('Web Shop')
  const list = await (await signedIn(server)).get(`${server.url}/admin/clients`)
  expect(list.body).toMatch(/evil\.example<\/bdi><\/a><br><span class="small">It calls itself “<bdi>Web Shop/)
  // An app's own scheme has no host, whatever stands where that of a web address does.
  for (const uri of ['com.evil.app:/callback', 'com.evil.app://shop.example/callback']) {
    const members = { client_name: 'Web Shop', client_uri: 'https://shop.example/', redirect_uris: [uri] }
    const { client_id } = await apps.create(members)
    const { body } = await agent.get(authorizationUrl(server, { client_id, redirect_uri: uri }))
    expect(body).toMatch(/<h1><bdi>com\.evil\.app:<\/bdi> wants access/)
    expect(body).toContain('You will be sent to <strong><bdi>com.evil.app:</bdi></strong>')
    expect(body).not.toMatch(/<bdi>shop\.example|href="https:\/\/shop\.example/)
  }
})

test('one with addresses on several hosts is shown by all of them where nobody is on the way to one', async () => {
  const uris = ['https://bank.example/', 'https://evil.example/callback']
  const liar = await apps.create({ client_uri: 'https://bank.example/', redirect_uris: uris })
  const more = ['https://one.example/', 'https://two.example/', 'https://three.example/', uris[1]!]
  const vague = await apps.create({ redirect_uris: more })
  const agent = createUserAgent(server.url)
  for (const client_id of [liar.client_id, vague.client_id]) {
    const page = await agent.get(authorizationUrl(server, { client_id, redirect_uri: uris[1]! }))
    const { username, password } = ALICE
    const consent =
      findForm(page, 'login') === undefined ? page : await agent.submit(page, 'login', { username, password })
    expect(consent.body).toMatch(/<h1><bdi>evil\.example<\/bdi> wants access to your account/)
    await agent.submit(consent, 'consent', { decision: 'allow' })
  }
  const { body } = await agent.get(`${server.url}/account/apps`)
  expect(body).toContain('<h2><bdi>bank.example, evil.example</bdi></h2>')
  expect(body).toContain(`<h2><bdi>${vague.client_id}</bdi></h2>`)
  expect(body).not.toContain('href="https://bank.example/"')
  const list = await (await signedIn(server)).get(`${server.url}/admin/clients`)
  expect(list.body).toContain('bank.example, evil.example</bdi></a>')
})

test('an administrator sees it', async () => {
  const agent = await signedIn(server)
  expect((await openClient(server, agent, app.client_id)).body).toMatch(NOBODY)
  expect((await openClient(server, agent, 'web')).body).not.toMatch(NOBODY)
})
