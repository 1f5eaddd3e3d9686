/** What administrators see of webhooks, and do about them: by pages, and by the interface for programs. @needs latchkey-webhooks, latchkey-admin */
import { randomBytes } from 'node:crypto'
import { expect, test } from 'vitest'
import { callerAs, startApi } from '../../support/admin-api.ts'
import { startReceiver } from '../../support/receiver.ts'
import { findForm } from '../../support/user-agent.ts'
import { until } from '../../support/until.ts'
import { signedIn } from '../admin/administrator.ts'

const statuses = new Map<string, number>()
const receiver = await startReceiver(({ url }, response) =>
  response.writeHead(statuses.get(url) ?? 204).end(),
)
const origin = `http://127.0.0.1:${receiver.port}`
const secret = `whsec_${randomBytes(32).toString('base64')}`
const server = await startApi({
  WEBHOOKS: `${origin}/well?key=canary ${secret} resource.*,${origin}/ill ${secret} scope.changed scope.deleted`,
  UNSAFE_OUTBOUND_ORIGINS: origin,
})
const { oauth } = server.server
const { query } = server.database
const agent = await signedIn(server)
const open = async (search = '') => agent.get(`${server.url}/admin/webhooks${search}`)
const [well, ill] = server.server.webhooks.all.map(({ name }) => name)

/** Given up, of whom. */
async function giveUp(name: string, count: number): Promise<void> {
  await query(
    `insert into outbox (id, kind, recipient, payload, last_error, tries_until, given_up_at)
      select gen_random_uuid(), 'webhook', $1, 'sealed', 'away', now() - interval '1 minute', now() from generate_series(1, $2)`,
    [name, count],
  )
}

test('the page names the addresses, what they are told and what they took, and no secret', async () => {
  await oauth.resources.saveResource({ resource: 'https://heard.example/', name: 'Heard' })
  await until(async () => expect((await open()).body).toContain('resource.registered: 204'))
  const { status, body } = await open()
  expect(status).toBe(200)
  expect(body.replaceAll('<wbr>', '')).toContain(`${origin}/well?…`)
  for (const shown of ['3 events are told', 'Nothing was sent yet.', 'It takes what it is told.', '<code>scope.deleted</code>'])
    expect(body).toContain(shown)
  for (const hidden of ['canary', secret, 'whsec']) expect(body).not.toContain(hidden)
}) // prettier-ignore

test('a test is sent by a button, and the page says what became of it; the audit log who sent it', async () => {
  const page = await open()
  const tested = await agent.submit(page, 'test-0')
  expect([tested.status, tested.body]).toEqual([200, expect.stringContaining('It took the test, in ')])
  expect(receiver.received.some(({ url, body }) => url.startsWith('/well') && body.includes('webhook.test'))).toBe(true)
  statuses.set('/ill', 403)
  expect((await agent.submit(page, 'test-1')).body).toContain('It did not take the test: webhook.test: it answered with 403')
  const { events } = await oauth.audit.list({ type: 'webhook.tested' })
  expect(events.map(({ actor, details }) => [actor.kind, details])).toEqual([
    ['user', { webhook: ill, taken: false, status: 403 }],
    ['user', { webhook: well, taken: true, status: 204 }],
  ])
}) // prettier-ignore

test('a form without its token, or of another address, sends nothing', async () => {
  const before = receiver.received.length
  const page = await open()
  const { action, fields } = findForm(page, 'test-0')!
  for (const sent of [{ webhook: well! }, { ...fields, webhook: ill! }])
    for (const path of [action, action.replace('/test', '/retry')])
      expect((await agent.post(new URL(path, page.url).href, sent)).status).toBe(403)
  expect(receiver.received).toHaveLength(before)
})

test('what was given up is sent again by a button, and nothing of another address', async () => {
  await giveUp(ill!, 3)
  await giveUp(well!, 1)
  await query(`insert into outbox_recipients (kind, recipient, failures, failing_since, rests_until)
    values ('webhook', '${ill}', 9, now(), now() + interval '1 hour') on conflict (kind, recipient)
    do update set failures = 9, failing_since = now(), rests_until = now() + interval '1 hour'`)
  const page = await open()
  for (const shown of ['3 were given up.', 'One was given up.', 'It has failed since ', 'It is tried less'])
    expect(page.body).toContain(shown)
  expect((await agent.submit(page, 'retry-1')).body).toContain('What was given up is sent again, for another day.')
  const [event] = (await oauth.audit.list({ type: 'delivery.retried' })).events
  expect(event).toMatchObject({ actor: { kind: 'user' }, details: { kind: 'webhook', count: 3 } })
  // Nobody can open these.
  await until(async () => expect((await open()).body).toContain('3 were given up.'))
  expect((await agent.get(`${server.url}/admin/deliveries`)).body).toContain(`<code>${ill}</code>`)
  expect((await query(`select failures from outbox_recipients where recipient = '${ill}'`))[0]).toEqual({ failures: 0 })
  await query('delete from outbox')
}) // prettier-ignore

test('programs with latchkey:admin do the same, and others nothing', async () => {
  const call = await callerAs(server, 'all')
  await giveUp(well!, 2)
  statuses.set('/ill', 404)
  const listed = await call('GET', '/webhooks')
  expect(listed.status).toBe(200)
  expect(listed.body['webhooks']).toEqual([
    expect.objectContaining({ name: well, address: `${origin}/well?…`, secrets: 1, given_up: 2, waiting: 0, failures: 0 }),
    expect.objectContaining({ name: ill, events: ['scope.changed', 'scope.deleted'] }),
  ])
  expect(JSON.stringify(listed.body)).not.toContain('canary')
  expect(await call('POST', `/webhooks/${well}/test`, {})).toMatchObject({ status: 200, body: { taken: true, status: 204 } })
  expect(await call('POST', `/webhooks/${ill}/test`, {})).toMatchObject({
    status: 200,
    body: { taken: false, status: 404, problem: 'it answered with 404', advice: 'See that the path is right, and that it takes POST.' },
  })
  expect(await call('POST', `/webhooks/${well}/retry`, {})).toMatchObject({ status: 200, body: { retried: 2 } })
  expect(await call('POST', '/webhooks/nobody/test', {})).toMatchObject({ status: 404 })
  const reader = await callerAs(server, 'auditor')
  expect(await reader('GET', '/webhooks')).toMatchObject({ status: 403 })
}) // prettier-ignore
