/**
 * Upstreams by the interface of the administration: their secrets go in, and never come out.
 * @needs latchkey-upstreams
 */
import { expect, test } from 'vitest'
import { kernelOf } from '../../../src/http/kernel-of.ts'
import { callerAs, startApi } from '../../support/admin-api.ts'

const server = await startApi()
const { upstreams } = kernelOf(server.server)
const call = await callerAs(server, 'all')
const SECRET = 'what corp gave us, as a secret'
const CORP = {
  id: 'corp',
  issuer: 'https://id.corp.example',
  client_id: 'latchkey',
  name: 'Corp',
  scope: ['openid', 'email'],
  domains: ['corp.example'],
  trust_email: true,
  sign_up: false,
  claims: { email: 'mail' },
}

async function secretOf(id: string): Promise<string | undefined> {
  return (await upstreams.all()).find((one) => one.id === id)?.secret()
}

test('one is registered with a secret that nobody is told, and signs people in', async () => {
  const made = await call('POST', '/upstreams', { ...CORP, client_secret: SECRET })
  expect([made.status, made.body]).toEqual([201, CORP])
  expect(await secretOf('corp')).toBe(SECRET)
  expect((await call('GET', '/upstreams/corp')).body).toEqual(CORP)
  expect((await call('GET', '/upstreams')).body).toEqual({ upstreams: [CORP] })
  expect(await (await server.get('/sign-in')).text()).toContain('Corp')
  const { events } = await server.server.oauth.audit.list({ type: 'upstream.registered' })
  expect(events).toMatchObject([{ actor: { kind: 'client', id: 'all' }, details: { upstream: 'corp' } }])
  expect(JSON.stringify(events)).not.toContain(SECRET)
  expect(server.output()).not.toContain(SECRET)
})

test('of GitHub, a client is enough', async () => {
  const GITHUB = { id: 'github', kind: 'github', client_id: 'us' }
  const { status, body } = await call('POST', '/upstreams', { ...GITHUB, client_secret: SECRET })
  expect([status, body]).toEqual([201, { ...GITHUB, issuer: 'https://github.com/login/oauth' }])
  expect(await (await server.get('/sign-in')).text()).toContain('Continue with <bdi>GitHub</bdi>')
  expect((await call('DELETE', '/upstreams/github')).status).toBe(204)
})

test('one that is changed keeps its secret until another is sent, or null', async () => {
  const shown = (await call('GET', '/upstreams/corp')).body
  const { name: _taken, ...rest } = shown
  expect((await call('PATCH', '/upstreams/corp', { ...shown, name: null })).body).toEqual(rest)
  expect(await secretOf('corp')).toBe(SECRET)
  const other = await call('PATCH', '/upstreams/corp', { client_secret: 'another one' })
  expect([other.status, other.body]).toEqual([200, rest])
  expect(await secretOf('corp')).toBe('another one')
  await call('PATCH', '/upstreams/corp', { client_secret: null })
  expect(await secretOf('corp')).toBeUndefined()
})

test.each([
  ['POST', '/upstreams', { ...CORP, id: 'Corp!' }, 'id'],
  ['POST', '/upstreams', { id: 'new', issuer: CORP.issuer }, 'client_id'],
  ['POST', '/upstreams', { ...CORP, id: 'new', issuer: server.url }, 'issuer'],
  ['POST', '/upstreams', { ...CORP, id: 'new', domains: [] }, 'trust_email'],
  ['POST', '/upstreams', { ...CORP, id: 'new', trust_emails: true }, 'trust_emails'],
  ['POST', '/upstreams', { ...CORP, id: 'new', issuer: undefined }, 'issuer'],
  ['POST', '/upstreams', { ...CORP, id: 'new', kind: 'saml' }, 'kind'],
  ['POST', '/upstreams', { ...CORP, id: 'new', subject_claim: 'id' }, 'subject_claim'],
  ['POST', '/upstreams', { ...CORP, id: 'new', kind: 'oauth2', scope: [] }, 'authorization_endpoint'],
  ['PATCH', '/upstreams/corp', { kind: 'github' }, 'issuer'],
  ['PATCH', '/upstreams/corp', { id: 'other' }, 'id'],
  ['PATCH', '/upstreams/corp', { issuer: null }, 'issuer'],
  ['PATCH', '/upstreams/corp', { domains: null }, 'trust_email'],
])('%s %s with %j is refused by its member', async (method, path, members, member) => {
  const before = (await call('GET', '/upstreams')).body
  const { status, body } = await call(method, path, members)
  expect([status, body.error, body.problems[0].member]).toEqual([400, 'invalid_request', member])
  expect((await call('GET', '/upstreams')).body).toEqual(before)
})

test('one that is there is a conflict', async () => {
  const { status, body } = await call('POST', '/upstreams', { ...CORP, id: 'corp' })
  expect([status, body.error, body.problems[0].member]).toEqual([409, 'conflict', 'id'])
})

test('a secret is described as sent alone', async () => {
  const { components } = (await (await server.get('/admin/api/v1/openapi.json')).json()) as {
    components: { schemas: Record<string, object> }
  }
  const { Upstream, NewUpstream } = components.schemas
  expect(Upstream).not.toHaveProperty('properties.client_secret')
  expect(NewUpstream).toMatchObject({
    required: ['id', 'client_id'],
    properties: { client_secret: { writeOnly: true } },
  })
})

test('one that is deleted is gone, once', async () => {
  expect((await call('DELETE', '/upstreams/corp')).status).toBe(204)
  expect(await upstreams.all()).toEqual([])
  for (const method of ['GET', 'PATCH', 'DELETE'])
    expect((await call(method, '/upstreams/corp', method === 'PATCH' ? {} : undefined)).status).toBe(404)
})
