/**
 * The pages of upstreams say all of their words by messages: at sign-in, on the account and in the administration.
 * @needs latchkey-upstreams
 */
import { expect, test } from 'vitest'
import { ALICE, authorizationUrl, BOB, goThrough, SEED, WEB } from '../../support/sign-in.ts'
import { answerAt, answerFrom, startBelow, startUpstream, type Traveller } from '../../support/upstreams.ts'
import { createUserAgent, findForm } from '../../support/user-agent.ts'
import { signedIn } from '../account/owner.ts'
import { expectSaid, PSEUDO_HEADERS } from './shown.ts'

const ROOT = { username: 'root', password: 'the long password of root', roles: ['admin'] }
const { server, upstreams } = await startBelow(
  async (url) => [
    await startUpstream('corp', url, [ALICE]),
    await startUpstream('school', url, [ALICE], { button: false, domains: ['school.example'] }),
  ],
  {},
  { seed: { ...SEED, users: [ALICE, BOB, ROOT] } },
)
const [corp] = upstreams as [(typeof upstreams)[number]]
/** Names, and what is known of the app on the sign-in page. */
const KNOWN = ['CORP', 'SCHOOL', WEB.client_id, 'app.example']
/** What the page of an error has for developers is in English. */
const DEVELOPERS = ['this answer belongs to no sign-in that is under way here', 'invalid_request']
const LINKED = '<section class="part" aria-labelledby="linked-sign-ins"'
const SECURITY = '<section class="part" aria-labelledby="security-upstreams"'

const reader = (): Traveller => ({
  here: createUserAgent(server.url, PSEUDO_HEADERS),
  there: createUserAgent(corp.issuer),
})

test('at sign-in: a button, the field for an address, and what went wrong', async () => {
  const who = reader()
  const page = await who.here.get(authorizationUrl(server))
  expectSaid(page, KNOWN)
  expect(page.body).toMatch(/id="upstream-corp"[^>]*><span>[^<]+<bdi>CORP<\/bdi></)
  const unknown = await who.here.submit(page, 'upstreams-find', { address: 'someone@nowhere.example' })
  expect(findForm(unknown, 'upstreams-find')).toBeDefined()
  expectSaid(unknown, ['someone@nowhere.example', ...KNOWN])
  const refused = await who.here.get(await answerFrom(who, page, 'corp'))
  expect(refused.body).toContain('id="upstreams-error"')
  expectSaid(refused, KNOWN)
  const over = await who.here.get(`${server.url}/upstream/corp/callback?state=none`)
  expect(over.body).toContain(DEVELOPERS[0])
  expectSaid(over, DEVELOPERS)
})

test('on the account: none, one that is refused, one that is linked, and unlinked', async () => {
  const who = reader()
  const empty = await goThrough(who.here, await who.here.get(`${server.url}/account/linked-sign-ins`), BOB)
  expectSaid(empty, KNOWN)
  const securityOf = async () => who.here.get(`${server.url}/account/security`)
  expectSaid(await securityOf(), KNOWN, SECURITY)
  expectSaid(await who.here.submit(empty, 'link', { upstream: 'nobody' }), KNOWN)
  const left = await who.here.submit(empty, 'link', { upstream: 'corp' })
  const linked = await who.here.get(await answerAt(who, left))
  expect(findForm(linked, 'unlink-0')).toBeDefined()
  expectSaid(linked, KNOWN)
  expectSaid(await securityOf(), KNOWN, SECURITY)
  const said = [
    'done=already',
    ...['elsewhere', 'full', 'denied'].map((one) => `upstream=corp&refused=${one}`),
  ]
  for (const query of said)
    expectSaid(await who.here.get(`${server.url}/account/linked-sign-ins?${query}`), KNOWN)
  await server.database.query(`update users set password_hash = null where username = 'bob'`)
  const last = await who.here.submit(linked, 'unlink-0')
  expect(last.status).toBe(400)
  expectSaid(last, KNOWN)
})

test('in the administration, on the page of a user: none, one, the last one, and unlinked', async () => {
  const admin = await signedIn(server, ROOT, PSEUDO_HEADERS)
  const { linkedSignIns, oauth } = server.server
  const pageOf = async (username: string, query = '') =>
    admin.get(`${server.url}/admin/user?id=${(await oauth.users.find(username))!.id}${query}`)
  expectSaid(await pageOf('root'), [], LINKED)
  const { id, value } = (await linkedSignIns.list((await oauth.users.find('bob'))!.id))[0]!
  const known = ['CORP', corp.issuer, value.subject, ...(value.name === null ? [] : [value.name])]
  const page = await pageOf('bob')
  expect(page.body).toContain(id)
  expectSaid(page, known, LINKED)
  expectSaid(await admin.submit(page, 'unlink-0'), known, LINKED)
  await oauth.users.setPassword('bob', BOB.password)
  expectSaid(await admin.submit(page, 'unlink-0'), known, LINKED)
})

test('in the administration: the list, a new one, one that is there, and its end', async () => {
  const admin = await signedIn(server, ROOT, PSEUDO_HEADERS)
  const open = async (path: string) => admin.get(`${server.url}/admin${path}`)
  const services = ['Google', 'Microsoft', 'GitHub', 'Apple']
  const scopes = ['openid profile email', 'read:user user:email', 'name email']
  const known = [corp.issuer, server.url, 'CORP', 'SCHOOL', 'corp', 'school', ...services, ...scopes]
  expectSaid(await open('/upstreams'), known)
  for (const type of ['google', 'microsoft', 'github', 'apple', 'oauth2'])
    expectSaid(await open(`/upstreams/new?type=${type}`), [...known, type])
  const form = await open('/upstreams/new?type=openid')
  expect(form.body).toContain(`<code><bdi>${server.url}/upstream/corp/callback</bdi></code>`)
  expectSaid(form, known)
  const values = { id: 'new', issuer: 'https://id.example', client_id: 'us', client_secret: 'a secret' }
  for (const wrong of [
    { id: 'NEW' },
    { id: 'corp' },
    { issuer: 'nowhere' },
    { client_id: '' },
    { scope: 'email' },
    { domains: 'nothing at all!' },
    { claims: 'email' },
    { claims: 'made_up=mail' },
    { name: 'x'.repeat(300) },
  ]) {
    const refused = await admin.submit(form, 'record', { ...values, ...wrong })
    expect([wrong, refused.status]).toEqual([wrong, 400])
    expectSaid(refused, known)
  }
  const made = await admin.submit(form, 'record', values)
  expectSaid(made, [values.issuer, ...known, 'new'])
  expectSaid(await admin.submit(made, 'record', { issuer: 'nowhere' }), [values.issuer, ...known, 'new'])
  expectSaid(await admin.submit(made, 'delete-record', { confirm: 'old' }), [values.issuer, ...known, 'new'])
})
