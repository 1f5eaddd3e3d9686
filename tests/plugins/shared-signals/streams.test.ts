/**
 * The management of event streams (SSF 1.0 §7, §8.1) as receivers and the OpenID Foundation's conformance suite call it: what is answered, and
 * what is refused.
 * @needs latchkey-shared-signals
 */
import { expect, test } from 'vitest'
import { basic, bearer } from '../../support/requests.ts'
import { startReceiver } from '../../support/receiver.ts'
import * as signals from '../../support/shared-signals.ts'
import { startServer } from '../../support/server.ts'
import { freePort } from '../../support/settings.ts'
import { SEED } from '../../support/sign-in.ts'
import { until } from '../../support/until.ts'

const { ALL, POLL, PUSH } = signals
const receiver = await startReceiver((_request, response) => response.writeHead(202).end())
const origin = `http://127.0.0.1:${receiver.port}`
const PORT = await freePort()
const host = `http://127.0.0.1:${PORT}`
const server = await signals.startSignals(
  ['life', 'addresses', 'status', 'subjects', 'refused', 'verifies', 'unscoped'].map((name) =>
    signals.app(name, name === 'unscoped' ? { scope: ['read_books'] } : {}),
  ),
  { UNSAFE_OUTBOUND_ORIGINS: origin, PORT, OIDC_ISSUER: `${host}/id` },
)
const { streams } = server.server.sharedSignals

test('the configuration says where everything is, below a path too', async () => {
  const found = await fetch(`${host}/.well-known/ssf-configuration/id`)
  expect([found.status, found.headers.get('content-type')]).toEqual([200, 'application/json'])
  const { url } = server
  expect(await found.json()).toEqual({
    spec_version: '1_0',
    issuer: url,
    jwks_uri: `${url}/jwks`,
    delivery_methods_supported: [PUSH, POLL],
    configuration_endpoint: `${url}/ssf/stream`,
    status_endpoint: `${url}/ssf/status`,
    add_subject_endpoint: `${url}/ssf/subjects/add`,
    remove_subject_endpoint: `${url}/ssf/subjects/remove`,
    verification_endpoint: `${url}/ssf/verify`,
    authorization_schemes: [{ spec_urn: 'urn:ietf:rfc:6749' }],
    default_subjects: 'ALL',
  })
  expect((await server.get('/.well-known/ssf-configuration')).status).toBe(200)
  const resource = await fetch(`${host}/.well-known/oauth-protected-resource/id/ssf`)
  expect(await resource.json()).toMatchObject({ resource: `${url}/ssf`, authorization_servers: [url] })
  const off = await startServer({}, { seed: SEED })
  expect((await off.get('/.well-known/ssf-configuration')).status).toBe(404)
  expect((await off.get('/ssf/stream')).status).toBe(404)
  await off.close()
})

test('a stream is made, read, updated, replaced and deleted', async () => {
  const call = await signals.signalsAs(server, 'life')
  expect((await call('GET', '/stream')).body).toEqual([])
  const raced = await Promise.all(Array.from({ length: 4 }, async () => call('POST', '/stream', {})))
  expect(raced.map(({ status }) => String(status)).toSorted()).toEqual(['201', '409', '409', '409'])
  await call('DELETE', `/stream?stream_id=${raced.find(({ status }) => status === 201)!.body.stream_id}`)
  const asked = [...ALL.slice(0, 2), 'https://schemas.openid.net/secevent/caep/event-type/device-compliance-change']
  // By default it is polled.
  const made = await call('POST', '/stream', { description: 'Ours', events_requested: asked })
  const { stream_id: id } = made.body
  const whole = {
    stream_id: id, iss: server.url, aud: 'life', description: 'Ours', min_verification_interval: 10,
    delivery: { method: POLL, endpoint_url: `${server.url}/ssf/poll/${id}` },
    events_supported: ALL, events_requested: asked, events_delivered: ALL.slice(0, 2),
  }
  expect(made).toMatchObject({ status: 201, body: whole })
  expect(made.headers.get('cache-control')).toBe('no-store')
  expect((await call('GET', `/stream?stream_id=${id}`)).body).toEqual(whole)
  expect((await call('GET', '/stream')).body).toEqual([whole])
  expect((await call('POST', '/stream', {})).status).toBe(409)

  const patched = await call('PATCH', '/stream', { ...whole, description: 'Changed' })
  expect(patched).toMatchObject({ status: 200, body: { ...whole, description: 'Changed' } })
  const push = { method: PUSH, endpoint_url: `${origin}/events`, authorization_header: 'Bearer x' }
  const put = await call('PUT', '/stream', { stream_id: id, delivery: push, events_requested: ALL })
  const { description: _none, ...rest } = whole
  const { authorization_header: _secret, ...shown } = push
  expect(put).toMatchObject({ status: 200, body: { ...rest, delivery: shown, events_requested: ALL, events_delivered: ALL } })
  expect(put.body).not.toHaveProperty('description')
  // What was read is sent back: the secret, which was not shown, stays.
  await call('PUT', '/stream', put.body)
  expect((await streams.find('life'))?.delivery.authorizationHeader).toBe('Bearer x')
  await call('PATCH', '/stream', { stream_id: id, delivery: { ...shown, authorization_header: '' } })
  expect((await streams.find('life'))?.delivery).not.toHaveProperty('authorizationHeader')

  expect(await call('DELETE', `/stream?stream_id=${id}`)).toMatchObject({ status: 204, body: null })
  expect((await call('DELETE', `/stream?stream_id=${id}`)).status).toBe(404)
  const { events } = await server.server.oauth.audit.list({ client: 'life' })
  expect(events.map(({ type }) => type).filter((type) => type.startsWith('stream.'))).toEqual([
    'stream.deleted', 'stream.changed', 'stream.changed', 'stream.changed', 'stream.changed', 'stream.created',
    'stream.deleted', 'stream.created',
  ])
}) // prettier-ignore

test('an address is shown as its receiver wrote it; the header stays with the same one, however that is written', async () => {
  const call = await signals.signalsAs(server, 'addresses')
  const written = [
    'https://receiver.example',
    'https://Receiver.example:443/',
    'https://receiver.example/%7Eus/../',
  ]
  const delivery = { method: PUSH, authorization_header: 'Bearer x' }
  const stream_id = await signals.streamOf(call, { ...delivery, endpoint_url: written[0] })
  const headerNow = async () => (await streams.find('addresses'))?.delivery.authorizationHeader
  for (const endpoint_url of written) {
    const { body } = await call('PATCH', '/stream', { stream_id, delivery: { method: PUSH, endpoint_url } })
    expect(body.delivery).toEqual({ method: PUSH, endpoint_url })
    expect((await call('GET', `/stream?stream_id=${stream_id}`)).body).toEqual(body)
    expect(await headerNow()).toBe('Bearer x')
  }
  const elsewhere = { method: PUSH, endpoint_url: 'https://receiver.example/us' }
  await call('PATCH', '/stream', { stream_id, delivery: elsewhere })
  expect(await headerNow()).toBeUndefined()
})

test('a status is read and changed, with its reason', async () => {
  const call = await signals.signalsAs(server, 'status')
  const stream_id = await signals.streamOf(call)
  expect((await call('GET', `/status?stream_id=${stream_id}`)).body).toEqual({ stream_id, status: 'enabled' })
  for (const status of ['paused', 'disabled', 'enabled']) {
    const { body } = await call('POST', `/status?stream_id=${stream_id}`, {
      stream_id,
      status,
      reason: `now ${status}`,
    })
    expect(body).toEqual({ stream_id, status, reason: `now ${status}` })
    expect((await call('GET', `/status?stream_id=${stream_id}`)).body).toEqual(body)
  }
  expect((await call('POST', '/status', { stream_id, status: 'sleeping' })).status).toBe(400)
})

test('what is wrong is refused by the status that the specification has for it', async () => {
  const call = await signals.signalsAs(server, 'refused')
  const id = await signals.streamOf(call, { method: PUSH, endpoint_url: `${origin}/events` })
  const [reader, nobody, stranger] = [
    signals.signalsWith(server, await signals.tokenFor(server, 'refused', 'ssf.read')),
    signals.signalsWith(server, 'not-a-token'),
    await signals.signalsAs(server, 'status'),
  ]
  const named = { stream_id: id }
  const subject = { format: 'email', email: 'example.user@example.com' }
  const rows: readonly (readonly [number, signals.CallSignals, string, string, unknown?])[] = [
    ...[';{ broken', '[]', '{"stream_id": '].map((body) => [400, call, 'POST', '/stream', body] as const),
    [400, call, 'PATCH', '/stream', ';{ broken'],
    [400, call, 'PATCH', '/stream', { description: 'of which?' }],
    [400, call, 'PUT', '/stream', { ...named, iss: 'https://other.example' }],
    [400, call, 'PATCH', '/stream', { ...named, events_delivered: [] }],
    [400, call, 'PATCH', '/stream', { ...named, aud: ['refused'] }],
    [400, call, 'PATCH', '/stream', { ...named, description: 'nul \0' }],
    [400, call, 'PATCH', '/stream', { ...named, events_requested: ['\ud800'] }],
    [400, call, 'PATCH', '/stream', { ...named, events_requested: 'all' }],
    // Each may be as long as that, and not all of as many as there may be.
    [400, call, 'PATCH', '/stream', { ...named, events_requested: Array.from({ length: 100 }, () => 'x'.repeat(500)) }],
    // Each fits, and all of it together does not.
    [400, call, 'PUT', '/stream', {
      ...named,
      events_requested: Array.from({ length: 31 }, () => 'x'.repeat(500)),
      description: '\u0001'.repeat(500),
      delivery: { method: PUSH, endpoint_url: `${origin}/events`, authorization_header: '"'.repeat(4000) },
    }],
    // What is cut off of it ends between two characters.
    [200, call, 'PATCH', '/stream', { ...named, description: `${'x'.repeat(499)}\u{1f600}` }],
    ...[
      { method: 'urn:example:carrier-pigeon' },
      { method: PUSH },
      { method: PUSH, endpoint_url: 'http://receiver.example/events' },
      { method: PUSH, endpoint_url: 'https://user:password@receiver.example/' },
      { method: PUSH, endpoint_url: 'https://receiver.example/#fragment' },
      { method: PUSH, endpoint_url: ' https://receiver.example/' },
      { method: PUSH, endpoint_url: 'https://receiver.example/a b' },
      { method: PUSH, endpoint_url: 'https://receiver.example/\n' },
      { method: PUSH, endpoint_url: `https://receiver.example/${'x'.repeat(2000)}` },
      { method: PUSH, endpoint_url: `${origin}/`, authorization_header: 'Bearer x\r\nHost: other.example' },
      { method: PUSH, endpoint_url: `${origin}/`, authorization_header: 'Bearer \u00e9' },
    ].map((delivery) => [400, call, 'PATCH', '/stream', { ...named, delivery }] as const),
    [400, call, 'DELETE', '/stream'],
    [400, call, 'GET', '/status'],
    [400, call, 'POST', '/verify', '{"stream_id": '],
    [400, call, 'POST', '/verify', { ...named, state: 7 }],
    [400, call, 'POST', '/subjects/add', { ...named, subject: 'alice' }],
    [400, call, 'POST', `/poll/${id}`, {}],
    ...(['GET', 'PATCH', 'PUT', 'DELETE'] as const).flatMap((method) => {
      const [path, body] = method === 'GET' || method === 'DELETE' ? [`?stream_id=${id}`] : ['', named]
      return [[401, nobody, method, `/stream${path}`, body], [404, stranger, method, `/stream${path}`, body]] as const
    }),
    [401, signals.signalsWith(server), 'GET', '/stream'],
    [401, nobody, 'POST', '/stream', {}],
    [401, nobody, 'POST', '/verify', named],
    [401, nobody, 'GET', `/status?stream_id=${id}`],
    [403, reader, 'POST', '/stream', {}],
    [403, reader, 'POST', '/status', { ...named, status: 'paused' }],
    [403, reader, 'POST', '/subjects/remove', { ...named, subject }],
    [404, stranger, 'POST', '/verify', named],
    [404, stranger, 'GET', `/status?stream_id=${id}`],
    [404, stranger, 'POST', '/status', { ...named, status: 'paused' }],
    [404, stranger, 'POST', '/subjects/add', { ...named, subject }],
    [404, call, 'GET', '/stream?stream_id=another'],
  ]
  const answers = []
  for (const [, who, method, path, body] of rows) answers.push(await who(method, path, body))
  expect(answers.map(({ status }) => status)).toEqual(rows.map(([status]) => status))
  expect((await reader('GET', `/stream?stream_id=${id}`)).status).toBe(200)
  for (const { headers } of answers.filter(({ status }) => status === 401 || status === 403))
    expect(headers.get('www-authenticate')).toMatch(/^(?:Bearer|DPoP) /)
  expect((await nobody('GET', '/stream')).headers.get('www-authenticate')).toContain('error="invalid_token"')

  // A token is taken from the header alone, and only where it is for this interface.
  const token = await signals.tokenFor(server, 'refused')
  expect((await server.get(`/ssf/stream?access_token=${token}`)).status).toBe(401)
  const form = { grant_type: 'client_credentials', scope: 'ssf.manage' }
  const unscoped = await server.post('/token', form, basic('unscoped', signals.app('x').client_secret))
  expect(await unscoped.json()).toMatchObject({ error: 'invalid_scope' })
  await server.post('/revoke', { token }, basic('refused', signals.app('x').client_secret))
  expect((await server.request('/ssf/stream', { headers: bearer(token) })).status).toBe(401)
}) // prettier-ignore

test('a verification is asked for once in ten seconds', async () => {
  const call = await signals.signalsAs(server, 'verifies')
  const stream_id = await signals.streamOf(call)
  const all = await Promise.all(Array.from({ length: 4 }, async () => call('POST', '/verify', { stream_id })))
  expect(all.map(({ status }) => String(status)).toSorted()).toEqual(['204', '429', '429', '429'])
  const { headers } = all.find(({ status }) => status === 429)!
  expect(Number(headers.get('retry-after'))).toBeGreaterThan(0)
  await streams.change('verifies', stream_id, (had) => ({ ...had, verifiedAt: had.verifiedAt! - 10_000 }))
  expect((await call('POST', '/verify', { stream_id })).status).toBe(204)
})

test('a subject that was removed is not told of until it is added again; the answers tell nothing of who is known', async () => {
  const call = await signals.signalsAs(server, 'subjects')
  const stream_id = await signals.streamOf(call)
  const { users } = server.server.oauth
  const person = { username: 'gina', password: 'a long enough password', email: 'gina@example.com', email_verified: true }
  const { id } = await users.create(person)
  await signals.signInTo(server, 'subjects', person)
  const iss_sub = { format: 'iss_sub', iss: server.url, sub: id }
  const email = { format: 'email', email: 'Gina@example.com' }
  const forms = [iss_sub, email, { format: 'complex', user: iss_sub }]
  const unknown = [
    { format: 'email', email: 'nobody@example.com' }, { format: 'iss_sub', iss: 'https://other.example', sub: id },
    { format: 'opaque', id: stream_id }, { format: 'phone_number', phone_number: '+1' }, { format: 'complex' }, { format: 'email' },
    // One session alone cannot be removed, and so nothing is.
    { format: 'complex', user: iss_sub, session: { format: 'opaque', id: 'one' } },
  ]
  const removed = async () => server.database.query(`select subject from removed_subjects where stream = '${stream_id}'`)
  for (const subject of unknown) expect((await call('POST', '/subjects/remove', { stream_id, subject })).status).toBe(204)
  expect(await removed()).toEqual([])
  for (const subject of forms) {
    expect(await call('POST', '/subjects/remove', { stream_id, subject })).toMatchObject({ status: 204, body: null })
    expect(await removed()).toEqual([{ subject: id }])
    expect(await call('POST', '/subjects/add', { stream_id, subject, verified: true })).toMatchObject({ status: 200, body: null })
    expect(await removed()).toEqual([])
  }
  for (const subject of unknown) expect((await call('POST', '/subjects/add', { stream_id, subject })).status).toBe(200)

  const isQuiet = () =>
    until(async () => expect(await server.database.query('select kind from outbox where given_up_at is null')).toEqual([]))
  await call('POST', '/subjects/remove', { stream_id, subject: email })
  await users.disable('gina')
  await isQuiet()
  await call('POST', '/subjects/add', { stream_id, subject: email })
  await users.enable('gina')
  await isQuiet()
  const told = await call('POST', `/poll/${stream_id}`, {})
  const sets = await Promise.all(Object.values<string>(told.body.sets).map(async (set) => signals.verified(server, set, 'subjects')))
  expect(sets.map(({ events }) => Object.keys(events as object))).toEqual([[signals.ACCOUNT_ENABLED]])

  // What is remembered of somebody ends with them.
  await call('POST', '/subjects/remove', { stream_id, subject: email })
  await users.delete('gina')
  await until(async () => expect(await removed()).toEqual([]))
}) // prettier-ignore
