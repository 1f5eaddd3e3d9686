/** `webhook list|test`. @needs latchkey-webhooks */
import { randomBytes } from 'node:crypto'
import { Webhook } from 'standardwebhooks'
import { expect, test } from 'vitest'
import { commandsHere, runCommandHere } from '../support/command-here.ts'
import { createDatabase } from '../support/database.ts'
import { startReceiver } from '../support/receiver.ts'
import { freePort } from '../support/settings.ts'

let status = 204
const receiver = await startReceiver((_request, response) => response.writeHead(status).end())
const origin = `http://127.0.0.1:${receiver.port}`
const away = `http://127.0.0.1:${await freePort()}`
const [NEW, OLD] = [0, 1].map(() => `whsec_${randomBytes(32).toString('base64')}`)
const SEGMENT = 'B'.repeat(24)
const database = await createDatabase()
const settings = {
  DATABASE_URL: database.url,
  SECRET_KEY: 'k'.repeat(40),
  UNSAFE_OUTBOUND_ORIGINS: `${origin},${away}`,
  WEBHOOKS: [
    `${origin}/hooks/${SEGMENT}?token=canary ${NEW} ${OLD} user.registered client.*`,
    `${origin}/other ${NEW} user.*`,
    `${away}/away ${NEW} user.*`,
    `https://127.0.0.1:1/private ${NEW} user.*`,
  ].join(','),
}
const { run, runJson } = commandsHere(settings, 'webhook')
const refusal = async (...args: string[]) => {
  const { status: exit, stdout, stderr } = await runCommandHere(['webhook', ...args], settings)
  expect({ exit, stdout }).toEqual({ exit: 1, stdout: '' })
  return stderr
}

test('list says what they are called and told, without a secret', async () => {
  const listed = (await runJson('list')) as unknown as { name: string; address: string; events: string[]; secrets: number }[]
  expect(listed.map(({ address, secrets }) => [address, secrets])).toEqual([
    [`${origin}/hooks/BBBB…?…`, 2],
    [`${origin}/other`, 1],
    [`${away}/away`, 1],
    ['https://127.0.0.1:1/private', 1],
  ])
  expect(listed[0]!.events).toEqual(expect.arrayContaining(['user.registered', 'client.registered', 'client.deleted']))
  expect(new Set(listed.map(({ name }) => name)).size).toBe(4)
  const lines = await run('list')
  expect(lines).toContain(listed[1]!.name)
  for (const secret of ['whsec', 'canary', SEGMENT]) expect(lines + JSON.stringify(listed)).not.toContain(secret)
}) // prettier-ignore

test('list says what waits and what was given up', async () => {
  const [{ name }, other] = (await runJson('list')) as unknown as [{ name: string }, { name: string }]
  await database.query(
    `insert into outbox (id, kind, recipient, payload, tries_until, given_up_at)
      select gen_random_uuid(), 'webhook', $1, 'sealed', now() + make_interval(hours => n), case when n < 0 then now() end from generate_series(-1, 2) n where n <> 0`,
    [name],
  )
  const listed = (await runJson('list')) as unknown as object[]
  expect(listed[0]).toMatchObject({ waiting: 2, crowded: false, given_up: 1 })
  expect(listed[1]).toMatchObject({ waiting: 0, crowded: false, given_up: 0 })
  const lines = (await run('list')).split('\n')
  expect(lines[0]).toMatch(/client\.\* {2}2 waiting, 1 given up$/)
  expect(lines.find((line) => line.startsWith(other.name))).toMatch(/user\.\*$/)
  await database.query('delete from outbox')
})

test('where there are none, list says so', async () => {
  expect(await runCommandHere(['webhook', 'list'], { ...settings, WEBHOOKS: undefined })).toMatchObject({
    status: 0,
    stdout: 'There are no webhooks: WEBHOOKS names none.\n',
  })
})

test('test sends one message that the library takes by either secret, and says so', async () => {
  status = 204
  const [{ name }] = (await runJson('list')) as unknown as [{ name: string }]
  const told = await runJson('test', name)
  expect(told).toEqual({ name, taken: true, status: 204, milliseconds: expect.any(Number) as number })
  expect(await run('test', `${origin}/hooks`)).toMatch(
    /took the message: it answered with 204, in \d+ ms\.\n$/,
  )
  const [first, second] = receiver.received
  expect(first!.url).toBe(`/hooks/${SEGMENT}?token=canary`)
  for (const secret of [NEW!, OLD!])
    expect(new Webhook(secret).verify(first!.body, first!.headers as Record<string, string>)).toMatchObject({
      type: 'webhook.test',
      data: { type: 'webhook.test', id: first!.headers['webhook-id'] },
    })
  expect(second!.headers['webhook-id']).not.toBe(first!.headers['webhook-id'])
  const [event] = await database.query(
    `select actor_kind, details from audit_events where type = 'webhook.tested'`,
  )
  expect(event).toMatchObject({ details: { webhook: name, taken: true, status: 204 } })
})

test('test says why it was not taken, and what to do', async () => {
  const other = `${origin}/other`
  for (const [answered, advice] of [
    [302, 'No redirect is followed'],
    [401, 'See that it has the secret'],
    [404, 'See that the path is right'],
    [410, 'take it out of WEBHOOKS'],
    [503, 'See its log'],
  ] as const) {
    status = answered
    expect(await refusal('test', other)).toMatch(
      new RegExp(`^${other} did not take the message: it answered with ${answered}, after \\d+ ms\\. .*${advice}`),
    )
  }
  expect(await refusal('test', away)).toMatch(/no answer came \(ECONNREFUSED\), after \d+ ms\. See that it runs/)
  expect(await refusal('test', 'https://127.0.0.1:1/private')).toContain('add https://127.0.0.1:1 to UNSAFE_OUTBOUND_ORIGINS')
}) // prettier-ignore

test('what names none, or several, is told those that there are, and not repeated', async () => {
  expect(await refusal('test', 'https://nobody.example/canary')).toMatch(
    /^WEBHOOKS has no such address: name one of 127/,
  )
  expect(await refusal('test', origin)).toMatch(/^Several webhooks begin so: name one of 127/)
  expect(await refusal('test', 'canary')).not.toContain('canary')
})
