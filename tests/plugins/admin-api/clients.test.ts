/** Clients, scopes, resources, keys and the audit log by the interface of the administration. */
import { describe, expect, test } from 'vitest'
import { callerAs, startApi } from '../../support/admin-api.ts'
import { basic } from '../../support/requests.ts'
import { bearer } from '../../support/requests.ts'
import { signedIn } from '../account/owner.ts'

const server = await startApi()
const { oauth } = server.server
const call = await callerAs(server, 'apps')
const all = await callerAs(server, 'all')
const ROBOT = { client_name: 'Robot', grant_types: ['client_credentials'], scope: 'read_books' }

async function tokenStatus(id: string, secret: string): Promise<number> {
  return (await server.post('/token', { grant_type: 'client_credentials' }, basic(id, secret))).status
}

describe('a client', () => {
  test('is registered with a secret that is told once, and gets tokens with it', async () => {
    const { status, headers, body } = await call('POST', '/clients', ROBOT)
    expect([status, headers.get('cache-control')]).toEqual([201, 'no-store'])
    expect(body).toMatchObject({
      ...ROBOT,
      client_id: expect.any(String),
      client_secret: expect.stringMatching(/^lks_/),
    })
    expect(await tokenStatus(body.client_id, body.client_secret)).toBe(200)
    const { client_secret: _once, ...known } = body
    expect((await call('GET', `/clients/${body.client_id}`)).body).toEqual(known)
    expect(JSON.stringify((await call('GET', '/clients')).body)).not.toContain('lks_')
    expect(server.output()).not.toContain(body.client_secret)
    const [event] = (await oauth.audit.list({ type: 'client.registered', client: body.client_id })).events
    expect(event!.actor).toEqual({ kind: 'client', id: 'apps' })
  })

  test.each([
    [{ redirect_uris: ['ftp://app.example'] }, 'invalid_redirect_uri', 'redirect_uris'],
    [{ ...ROBOT, scope: 'nowhere' }, 'invalid_client_metadata', 'scope'],
    [{ ...ROBOT, client_nam: 'R' }, 'invalid_request', 'client_nam'],
    [{ ...ROBOT, grant_types: ['telepathy'] }, 'invalid_client_metadata', 'grant_types'],
    [{ ...ROBOT, client_id: '..' }, 'invalid_request', 'client_id'],
    [{ ...ROBOT, client_secret: 'short' }, 'invalid_request', 'client_secret'],
    [{ ...ROBOT, client_id: 'read_books' }, 'invalid_client_metadata', 'client_id'],
  ])('%j is refused: %s', async (metadata, error, member) => {
    const { status, body } = await call('POST', '/clients', metadata)
    expect([status, body.error, body.problems[0].member]).toEqual([400, error, member])
  })

  test('is changed by its members, and what is null is taken away', async () => {
    const { client_id: id } = (await call('POST', '/clients', ROBOT)).body
    const { body } = await call('PATCH', `/clients/${id}`, {
      client_name: null,
      client_uri: 'https://robot.example/',
    })
    expect(body).toMatchObject({ client_uri: 'https://robot.example/', scope: 'read_books' })
    expect(body).not.toHaveProperty('client_name')
    expect((await call('PATCH', `/clients/${id}`, { client_id: 'other' })).body.problems[0].member).toBe(
      'client_id',
    )
    expect((await call('PATCH', `/clients/${id}`, body)).body).toEqual(body)
  })

  test('gets another secret, beside which the one before works for a while', async () => {
    const { client_id: id, client_secret: first } = (await call('POST', '/clients', ROBOT)).body
    const { status, body } = await call('POST', `/clients/${id}/secret`, { overlap: 60 })
    expect([status, body.client_secret === first]).toEqual([201, false])
    expect([await tokenStatus(id, first), await tokenStatus(id, body.client_secret)]).toEqual([200, 200])
    // Once more, as the answer was lost: what works goes on working.
    await call('POST', `/clients/${id}/secret`, { overlap: 60 })
    expect(await tokenStatus(id, first)).toBe(200)
    const { client_secret: third } = (await call('POST', `/clients/${id}/secret`, {})).body
    expect([await tokenStatus(id, first), await tokenStatus(id, third)]).toEqual([401, 200])
    for (const overlap of [-1, 1.5, '60', 1e9])
      expect((await call('POST', `/clients/${id}/secret`, { overlap })).status).toBe(400)
    const open = await call('POST', '/clients', {
      client_id: 'public',
      token_endpoint_auth_method: 'none',
      redirect_uris: ['https://app.example/cb'],
    })
    expect(open.body).not.toHaveProperty('client_secret')
    expect((await call('POST', '/clients/public/secret', {})).status).toBe(400)
  })

  test('is deleted, once, and its secret is good for nothing', async () => {
    const { client_id: id, client_secret: secret } = (await call('POST', '/clients', ROBOT)).body
    expect((await call('DELETE', `/clients/${id}`)).status).toBe(204)
    expect((await call('DELETE', `/clients/${id}`)).status).toBe(404)
    expect(await tokenStatus(id, secret)).toBe(401)
    for (const name of [id, 'constructor', '%20', '__proto__'])
      expect((await call('GET', `/clients/${name}`)).status).toBe(404)
  })

  test('is found in a list that goes on, by its name too', async () => {
    for (const n of [1, 2, 3])
      await call('POST', '/clients', { ...ROBOT, client_id: `z-${n}`, client_name: `Zebra ${n}` })
    const first = (await call('GET', '/clients?search=zebra&limit=2')).body
    const rest = (await call('GET', `/clients?search=zebra&limit=2&after=${first.next}`)).body
    const ids = [...first.clients, ...rest.clients].map(({ client_id: id }: { client_id: string }) => id)
    expect([ids, rest.next]).toEqual([['z-1', 'z-2', 'z-3'], undefined])
    const seen: string[] = []
    for (let next: string | undefined = ''; next !== undefined;) {
      const { body } = await call('GET', `/clients?limit=4${next === '' ? '' : `&after=${next}`}`)
      seen.push(...body.clients.map(({ client_id: id }: { client_id: string }) => id))
      next = body.next
    }
    expect(seen).toEqual((await oauth.clients.list('', 1000)).map(({ client_id: id }) => id))
  })
})

test('a scope and its resource are registered, changed, listed and removed', async () => {
  const resource = 'https://api.example/pets'
  const path = `/resources/${encodeURIComponent(resource)}`
  expect(await call('POST', '/resources', { resource, access_token_format: 'opaque' })).toMatchObject({
    status: 201,
  })
  expect((await call('POST', '/resources', { resource })).body.problems[0].member).toBe('resource')
  expect((await call('PATCH', path, { name: 'Pets', access_token_format: null })).body).toEqual({
    resource,
    name: 'Pets',
  })
  expect((await call('GET', path)).body).toEqual({ resource, name: 'Pets' })
  const scope = { name: 'feed_pets', description: 'Feed your pets', resource }
  expect(await call('POST', '/scopes', scope)).toMatchObject({ status: 201, body: scope })
  expect((await call('POST', '/scopes', scope)).status).toBe(409)
  expect(
    (await call('POST', '/scopes', { ...scope, name: 'more', colour: 'red' })).body.problems[0].member,
  ).toBe('colour')
  expect((await call('PATCH', '/scopes/feed_pets', { name: 'other' })).body.problems[0].member).toBe('name')
  expect((await call('PATCH', '/scopes/feed_pets', { resource: 'https://nowhere.example/' })).status).toBe(
    400,
  )
  expect((await call('GET', '/scopes?limit=2')).body.scopes).toHaveLength(2)
  const { client_id: id } = (await call('POST', '/clients', { ...ROBOT, scope: 'feed_pets' })).body
  expect((await call('DELETE', '/scopes/feed_pets')).body.problems[0].reason).toContain(id)
  await call('DELETE', `/clients/${id}`)
  expect((await call('DELETE', '/scopes/feed_pets')).status).toBe(204)
  expect((await call('DELETE', path)).status).toBe(204)
  for (const [method, gone] of [
    ['GET', path],
    ['PATCH', path],
    ['DELETE', path],
    ['PATCH', '/scopes/feed_pets'],
  ] as const)
    expect((await call(method, gone, method === 'PATCH' ? {} : undefined)).status).toBe(404)
})

test('keys are listed, rotated and revoked, by who may do all', async () => {
  const { keys } = (await all('GET', '/keys')).body
  expect(keys.map(({ alg }: { alg: string }) => alg)).toEqual(expect.arrayContaining(['RS256', 'ES256']))
  expect(JSON.stringify(keys)).not.toContain('"d"')
  const { status, body } = await all('POST', '/keys', { alg: 'RS256' })
  expect([status, body.state]).toEqual([201, 'next'])
  const { kid } = keys.find(({ alg }: { alg: string }) => alg === 'RS256')
  expect((await all('DELETE', `/keys/${kid}`)).body).toMatchObject({ kid, state: 'revoked' })
  const left = (await all('GET', '/keys')).body.keys.filter(({ alg }: { alg: string }) => alg === 'RS256')
  expect(left).toMatchObject([{ kid: body.kid, state: 'current' }])
  expect((await all('DELETE', '/keys/none')).status).toBe(404)
  for (const alg of ['none', 7, undefined]) expect((await all('POST', '/keys', { alg })).status).toBe(400)
})

test('the audit log is read by what is looked for, from page to page', async () => {
  const read = await callerAs(server, 'auditor')
  await signedIn(server)
  const alice = (await oauth.users.find('alice'))!
  const { events } = (await read('GET', `/audit-events?user=${alice.id}&type=user.signed_in`)).body
  expect(events).toMatchObject([
    { type: 'user.signed_in', user: alice.id, actor: { kind: 'user', id: alice.id }, count: 1 },
  ])
  expect((await read('GET', `/audit-events?user=${alice.id}&since=2099-01-01T00:00:00Z`)).body).toEqual({
    events: [],
  })
  const ids: string[] = []
  for (let next: string | undefined = ''; next !== undefined;) {
    const { body } = await read(
      'GET',
      `/audit-events?limit=5&client_id=web${next === '' ? '' : `&after=${next}`}`,
    )
    ids.push(...body.events.map(({ id }: { id: string }) => id))
    next = body.next
  }
  const known = (await oauth.audit.list({ client: 'web' }, { limit: 100 })).events.map(({ id }) => id)
  expect(ids).toEqual(known)
  for (const query of [
    'since=yesterday',
    'until=2026-13-01T00:00:00Z',
    'since=2026-02-31T00:00:00Z',
    'until=2025-02-29T12:00:00%2B01:00',
    'since=1',
    'limit=0',
    'after=x',
  ])
    expect([query, (await read('GET', `/audit-events?${query}`)).status]).toEqual([query, 400])
  for (const query of ['since=2024-02-29T23:30:00-01:00', 'until=2026-01-01T00:30:00%2B01:00'])
    expect([query, (await read('GET', `/audit-events?${query}`)).status]).toEqual([query, 200])
  for (const type of ['constructor', '__proto__', 'user.unheard_of'])
    expect((await read('GET', `/audit-events?type=${type}`)).body).toEqual({ events: [] })
})

test.each([
  ['POST', '/clients', '[1'],
  ['POST', '/clients', '[]'],
  ['POST', '/users', '{"username":"a","username":"b"}'],
  ['PATCH', '/clients/web', 'null'],
  ['POST', '/scopes', '"name"'],
])('%s %s with %s is refused, and nothing is done', async (method, path, body) => {
  const token = (await (
    await server.post('/token', { grant_type: 'client_credentials' }, basic('all', `lks_${'a'.repeat(43)}`))
  ).json()) as { access_token: string }
  const headers = { ...bearer(token.access_token), 'content-type': 'application/json' }
  const answer = await server.request(`/admin/api/v1${path}`, { method, headers, body })
  expect([answer.status, ((await answer.json()) as { error: string }).error]).toEqual([
    400,
    'invalid_request',
  ])
})
