/**
 * What administrators read on the page of an upstream: of a new one an example, of one that is there what is its own.
 * @needs latchkey-upstreams
 */
import { expect, test } from 'vitest'
import { kernelOf } from '../../../src/http/kernel-of.ts'
import { startServer } from '../../support/server.ts'
import { findForm, type Page } from '../../support/user-agent.ts'
import { alertOf, doneOn, ROOT, signedIn, textOf } from '../admin/administrator.ts'

const server = await startServer({}, { seed: { users: [ROOT] } })
const agent = await signedIn(server)
const open = async (path: string) => agent.get(`${server.url}/admin${path}`)
const KEEPS = 'Leave it empty to keep the one that is there.'
await kernelOf(server.server).upstreams.save({ id: 'school', issuer: 'https://id.example', client_id: 'us' })

const ofType = async (type: string) => open(`/upstreams/new?type=${type}`)
const asked = ({ body }: Page) =>
  Array.from(body.split('<details')[1]!.matchAll(/<(?:input|textarea|select) id="([^"]+)"/g), ([, id]) => id)
const shut = ({ body }: Page) =>
  Array.from(body.split('<details')[2]!.matchAll(/<(?:input|textarea|select) id="([^"]+)"/g), ([, id]) => id)
const PEOPLE = ['domains', 'trust_email', 'sign_up', 'button']

test.each([
  ['google', ['id', 'client_id', 'client_secret', 'name', ...PEOPLE], ['issuer', 'sign_out', 'scope', 'claims']],
  ['microsoft', ['id', 'issuer', 'client_id', 'client_secret', 'name', ...PEOPLE], ['sign_out', 'scope', 'claims']],
  ['github', ['id', 'client_id', 'client_secret', ...PEOPLE], ['name', 'issuer', 'scope', 'claims']],
  ['apple', ['id', 'client_id', 'team_id', 'key_id', 'client_secret', ...PEOPLE], ['name', 'scope', 'claims']],
  ['openid', ['id', 'issuer', 'client_id', 'client_secret', 'name', ...PEOPLE], ['sign_out', 'scope', 'claims']],
])('%s is asked for what it has, says what to do there, and the rest is shut', async (type, first, rest) => {
  const page = await ofType(type)
  expect([asked(page), shut(page)]).toEqual([first, rest])
  const id = type === 'openid' ? 'corp' : type
  expect(page.body).toContain(`<code><bdi>${server.url}/upstream/${id}/callback</bdi></code>`)
  expect(page.body).not.toContain('<details open>')
  expect(findForm(page, 'record')!.fields).toMatchObject({ type, id: type === 'openid' ? '' : type })
}) // prettier-ignore

test('Google is registered by its client alone', async () => {
  const { upstreams } = kernelOf(server.server)
  const secret = { client_id: 'us', client_secret: 'what it gave us' }
  const page = await agent.submit(await ofType('google'), 'record', secret)
  expect([page.status, alertOf(page)]).toEqual([200, undefined])
  const issuer = 'https://accounts.google.com'
  expect(await upstreams.find('google')).toEqual({ id: 'google', name: 'Google', client_id: 'us', issuer })
})

test('what is refused is asked for again as the same, and opened where it was shut', async () => {
  const wrong = { client_id: 'us', issuer: 'https://github.corp.example' }
  const refused = await agent.submit(await ofType('github'), 'record', wrong)
  expect([refused.status, textOf(refused, 'issuer-error')]).toEqual([400, expect.any(String)])
  expect(asked(refused)).toEqual(['id', 'client_id', 'client_secret', ...PEOPLE])
  expect(refused.body).toContain('<details open>')
  expect(refused.body).toMatch(/type=github"\s+aria-current="page">GitHub/)
}) // prettier-ignore

test('a new one has an example of its addresses, and no secret to keep', async () => {
  const page = await ofType('openid')
  expect(page.body).toContain('Where its ID is corp')
  expect(page.body).toContain(`<code><bdi>${server.url}/upstream/corp/callback</bdi></code>`)
  expect(textOf(page, 'client_secret-hint')).toBe('Kept encrypted, and never shown.')
})

test('one that is there has its own addresses, and a secret that stays', async () => {
  const page = await open('/upstream?id=school')
  for (const path of ['callback', 'signed-out'])
    expect(page.body).toContain(`<code><bdi>${server.url}/upstream/school/${path}</bdi></code>`)
  expect(page.body).not.toContain('/upstream/corp/')
  expect(textOf(page, 'client_secret-hint')).toContain(KEEPS)
})

test('it is deleted once its ID was typed, and the list says so', async () => {
  const page = await open('/upstream?id=school')
  const refused = await agent.submit(page, 'delete-record', { confirm: 'Our school' })
  expect([refused.status, alertOf(refused)]).toEqual([
    400,
    expect.stringContaining('This is not the ID of this upstream.'),
  ])
  const list = await agent.submit(refused, 'delete-record', { confirm: 'school' })
  expect([list.url, doneOn(list)]).toEqual([
    `${server.url}/admin/upstreams?removed=yes`,
    'The upstream is deleted.',
  ])
})

test.each(['scope', 'domains', 'claims'])('%s says how its list is written', async (name) => {
  expect(textOf(await open('/upstreams/new'), `${name}-hint`)).toMatch(/^Separated by spaces/)
})

test('one that is not there is said in the administration, with the way to the others', async () => {
  const { status, body } = await open('/upstream?id=gone')
  expect([status, /<h1>([^<]*)</.exec(body)?.[1]]).toEqual([404, 'There is no such upstream'])
  expect(body).toMatch(/<nav class="back"[^>]*><a href="\/admin\/upstreams">/)
})

test('every field in which something is wrong is marked at once', async () => {
  const refused = await agent.submit(await ofType('openid'), 'record', { domains: 'nothing at all!' })
  for (const name of ['id', 'issuer', 'client_id', 'domains'])
    expect([name, refused.status, textOf(refused, `${name}-error`)]).toEqual([name, 400, expect.any(String)])
})

test('of GitHub, a client is enough, and its page says where it comes back to', async () => {
  const { upstreams } = kernelOf(server.server)
  const page = await agent.submit(await ofType('github'), 'record', {
    client_id: 'us',
    client_secret: 'what it gave us',
  })
  expect([page.status, alertOf(page)]).toEqual([200, undefined])
  const issuer = 'https://github.com/login/oauth'
  expect(await upstreams.find('github')).toEqual({ id: 'github', kind: 'github', client_id: 'us', issuer })
  expect(page.body).toContain(`<code><bdi>${server.url}/upstream/github/callback</bdi></code>`)
  expect(page.body).not.toContain('/signed-out')
  const refused = await agent.submit(page, 'record', { issuer: 'https://github.corp.example' })
  expect([refused.status, textOf(refused, 'issuer-error')]).toEqual([
    400,
    'Must end with /login/oauth, as that of every GitHub.',
  ])
  const enterprise = 'https://github.corp.example/login/oauth'
  await agent.submit(refused, 'record', { issuer: enterprise })
  expect(await upstreams.find('github')).toMatchObject({ kind: 'github', issuer: enterprise })
})

test('of OAuth 2.0 alone, what no metadata says is typed, and stays as it was typed', async () => {
  const { upstreams } = kernelOf(server.server)
  const made = {
    id: 'plain',
    kind: 'oauth2',
    issuer: 'https://code.example',
    client_id: 'us',
    authorization_endpoint: 'https://code.example/authorize',
    token_endpoint: 'https://code.example/token',
    userinfo_endpoint: 'https://api.code.example/me?fields=id,name',
    subject_claim: 'id',
  }
  const { userinfo_endpoint: _left, kind: _kind, ...others } = made
  const refused = await agent.submit(await ofType('oauth2'), 'record', others)
  expect([refused.status, textOf(refused, 'userinfo_endpoint-error')]).toEqual([
    400,
    'Is missing: an upstream of the kind oauth2 has no metadata that says it.',
  ])
  const page = await agent.submit(refused, 'record', made)
  expect(await upstreams.find('plain')).toEqual(made)
  await agent.submit(page, 'record', { name: 'Plain', token_endpoint_auth_method: 'client_secret_post' })
  expect(await upstreams.find('plain')).toEqual({ ...made, name: 'Plain', token_endpoint_auth_method: 'client_secret_post' })
}) // prettier-ignore
