/** What is counted, and under which names: few labels, none that a stranger can make up. */
import { expect, test } from 'vitest'
import { requestToken } from '../../support/clients.ts'
import { parseMetrics, sumOf } from '../../support/metrics.ts'
import { startServer } from '../../support/server.ts'
import { freePort } from '../../support/settings.ts'
import { statusOf, toClient } from '../../support/service.ts'

const service = { client_id: 'service', client_secret: `lks_${'s'.repeat(43)}`, scope: ['read'] }
const options = { seed: { clients: [service] } }
const METRICS_PORT = await freePort()
const server = await startServer({ METRICS_PORT }, options)
const client = toClient(service)
const text = async (): Promise<string> => server.server.metrics!.text()

const REQUESTS = 'latchkey_http_request_duration_seconds_count'

test('requests are counted by route, with and without a slash, method and kind of status', async () => {
  const before = await text()
  await requestToken(server, client)
  await server.post('/token/', { grant_type: 'client_credentials' }, client.basic)
  await server.get('/token')
  await server.get('/jwks?secret=canary-1')
  await server.get('/canary-2')
  await server.get('/assets/canary-3')
  const after = await text()
  const more = (labels: Record<string, string>) =>
    sumOf(after, REQUESTS, labels) - sumOf(before, REQUESTS, labels)
  expect(more({ route: '/token', method: 'POST', status: '2xx' })).toBe(2)
  expect(more({ route: '/token', method: 'GET', status: '4xx' })).toBe(1)
  expect(more({ route: '/jwks', method: 'GET', status: '2xx' })).toBe(1)
  expect(more({ route: 'none', status: '4xx' })).toBeGreaterThanOrEqual(1)
  expect(more({})).toBe(6)
  expect(after).not.toContain('canary')
})

test('what an operator watches is there from the start', async () => {
  const now = await text()
  const found = new Set(parseMetrics(now).map(({ name }) => name))
  for (const name of [
    'process_cpu_seconds_total',
    'process_resident_memory_bytes',
    'nodejs_eventloop_lag_p99_seconds',
    'latchkey_processes',
    'latchkey_database_connections',
    'latchkey_database_waiting',
    'latchkey_hashing',
    'latchkey_changes_age_seconds',
    'latchkey_signing_key_age_seconds',
    'latchkey_signing_key_rotation_seconds',
    'latchkey_sign_ins_total',
    'latchkey_sign_ins_failed_total',
    'latchkey_client_authentications_failed_total',
    'latchkey_replays_total',
    'latchkey_deliveries_given_up_total',
    'latchkey_shed_requests_total',
  ])
    expect([...found]).toContain(name)
  for (const alg of ['ES256', 'RS256']) {
    const rotation = sumOf(now, 'latchkey_signing_key_rotation_seconds', { alg })
    const age = sumOf(now, 'latchkey_signing_key_age_seconds', { alg })
    expect(rotation + age).toBeCloseTo(90 * 86_400, 0)
  }
  expect(sumOf(now, 'latchkey_database_connections')).toBeGreaterThan(0)
})

test('tokens are counted by their grant, and who did not prove who it is', async () => {
  const before = await text()
  expect(await statusOf(requestToken(server, client))).toBe(200)
  expect(await statusOf(server.post('/token', { grant_type: 'client_credentials', client_id: 'service', client_secret: 'wrong' }))).toBe(401) // prettier-ignore
  const after = await text()
  for (const [name, labels] of [
    ['latchkey_tokens_issued_total', { grant_type: 'client_credentials' }],
    ['latchkey_client_authentications_failed_total', {}],
  ] as const)
    expect([name, sumOf(after, name, labels) - sumOf(before, name, labels)]).toEqual([name, 1])
})

test('who is throttled is counted too', async () => {
  for (let tries = 0; tries < 80; tries++) {
    const status = await statusOf(
      server.post('/token', { client_id: 'nobody', client_secret: 'x', grant_type: 'client_credentials' }),
    )
    if (status === 429) break
  }
  expect(sumOf(await text(), 'latchkey_throttled_requests_total', { route: '/token' })).toBe(1)
})

test('where METRICS_PORT is not set nothing is counted', async () => {
  expect((await startServer({}, options)).server.metrics).toBe(null)
})
