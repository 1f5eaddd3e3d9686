/** The audit log: stored with the change or not at all, told after it, and read by the window. */
import { afterAll, expect, test } from 'vitest'
import type { AuditEvent } from '../../../src/events.ts'
import { createAudit, type AuditTrail } from '../../../src/services/audit/audit.ts'
import { runAs } from '../../../src/services/audit/origin.ts'
import { openDatabase } from '../../../src/store/database.ts'
import { createDatabase } from '../../support/database.ts'
import { recordingLog } from '../../support/log.ts'

const rows = await createDatabase()
const database = await openDatabase({ url: rows.url })
const { log, output } = recordingLog()
const audit = createAudit(database, log)
afterAll(async () => database.close())

const signedIn = (user: string) =>
  ({ type: 'user.signed_in', user, details: { sid: 'a', amr: ['pwd'] } }) as const
const issued = (client: string, user?: string) =>
  ({ type: 'token.issued', client, user, details: { grant_type: 'refresh_token' } }) as const

async function all(of: AuditTrail, filter = {}, limit = 50): Promise<AuditEvent[]> {
  const found: AuditEvent[] = []
  let before: string | undefined
  do {
    const page = await of.list(filter, { before, limit })
    found.push(...page.events)
    before = page.next ?? undefined
  } while (before !== undefined)
  return found
}

test('what a transaction notes is stored with it, by whoever is at work', async () => {
  await runAs({ kind: 'command', id: 'root' }, async () =>
    audit.transaction(async (_query, note) => note(signedIn('u1'))),
  )
  const [event] = await all(audit, { user: 'u1' })
  expect(event).toMatchObject({
    type: 'user.signed_in', user: 'u1', actor: { kind: 'command', id: 'root' }, address: null, requestId: null,
    count: 1, details: { sid: 'a', amr: ['pwd'] },
  }) // prettier-ignore
  expect(Math.abs(event!.at - Date.now())).toBeLessThan(60_000)
})

test('a transaction that fails leaves no event, and tells nobody', async () => {
  const heard: AuditEvent[] = []
  audit.on('client.deleted', (event) => heard.push(event))
  const failing = audit.transaction(async (_query, note) => {
    note({ type: 'client.deleted', client: 'gone', details: { clients: [] } })
    throw new Error('no')
  })
  await expect(failing).rejects.toThrow('no')
  expect(await all(audit, { client: 'gone' })).toEqual([])
  expect(heard).toEqual([])
})

test('who listens hears once; one that throws keeps nobody else from hearing', async () => {
  const heard: string[] = []
  audit.on('scope.deleted', () => {
    throw new Error('a listener of the test')
  })
  audit.on('scope.deleted', ({ details }) => heard.push(details.scope))
  await audit.transactional(async (_em, note) => note({ type: 'scope.deleted', details: { scope: 'read' } }))
  expect(heard).toEqual(['read'])
  expect(output()).toContain('a listener of the test')
})

test('what is observed is stored by its second, like ones as one row', async () => {
  const own = createAudit(database, log)
  own.start()
  for (let time = 0; time < 7; time++) own.observe(issued('c1', 'u2'))
  own.observe(issued('c1', 'u3'))
  await own.stop()
  const found = await all(audit, { client: 'c1' })
  expect(Object.fromEntries(found.map(({ user, count }) => [user, count]))).toEqual({ u2: 7, u3: 1 })
})

test('what cannot be stored at the end is told as lost', async () => {
  const away = await openDatabase({ url: (await createDatabase()).url })
  await away.close()
  const { log: told, output: said } = recordingLog()
  const own = createAudit(away, told)
  own.start()
  for (let time = 0; time < 3; time++) own.observe(issued('unlucky', 'u2'))
  own.observe(issued('unlucky', 'u3'))
  await own.stop()
  expect(said()).toContain('"lost":4,"msg":"audit events are lost, since the database is away"')
})

const ofAuthorization = (client: string, n: number) =>
  ({
    type: 'token.issued',
    client,
    user: `user ${n % 50}`,
    details: { grant_type: 'refresh_token', authorization: `authorization ${n}` },
  }) as const
const refused = (client: string, user: string) =>
  ({ type: 'user.sign_in_failed', client, user, details: {} }) as const
const counts = (events: AuditEvent[]): number => events.reduce((sum, { count }) => sum + count, 0)
const named = (events: AuditEvent[]): Set<unknown> =>
  new Set(events.map(({ details }) => (details as Record<string, unknown>)['authorization']))

test('what PostgreSQL will never take keeps nothing else from being stored, and is told of', async () => {
  const { log: told, output: said } = recordingLog()
  const own = createAudit(database, told)
  own.start()
  const denied = (user: string) => ({ type: 'consent.denied', client: 'c7', user, details: {} }) as const
  own.observe(denied('u5'))
  own.observe({ type: 'voucher.praised', client: 'c7', details: { by: '\0' } } as never)
  own.observe({ type: 'voucher.blamed', client: 'c7' } as never)
  own.observe(denied('u6'))
  await own.stop()
  const stored = await all(audit, { client: 'c7' })
  expect(new Set(stored.map(({ user }) => user))).toEqual(new Set(['u5', 'u6']))
  expect(said()).toContain('voucher.praised')
  expect(said()).toContain('voucher.blamed')
  expect(said()).not.toContain('away')
})

test('each token names its Authorization, at 6000 of them in a second', async () => {
  const own = createAudit(database, log)
  own.start()
  for (let n = 0; n < 6000; n++) own.observe(ofAuthorization('busy', n))
  await own.stop()
  const found = await all(audit, { client: 'busy' }, 1000)
  expect(named(found).size).toBe(6000)
  expect(counts(found)).toBe(6000)
  const hours = (await audit.activity(Date.now() - 7_200_000)).filter(({ type }) => type === 'token.issued')
  expect(hours.reduce((sum, { count }) => sum + count, 0)).toBe(6008)
})

test('a rush of tokens takes no room from what is refused, nor the other way round', async () => {
  const own = createAudit(database, log)
  own.start()
  for (let n = 0; n < 3000; n++) own.observe(ofAuthorization('beside', n))
  own.observe(refused('beside', 'who is guessed'))
  for (let n = 0; n < 3000; n++) own.observe(refused('beside', `guessed ${n}`))
  own.observe(ofAuthorization('beside', 3000))
  await own.stop()
  expect(await all(audit, { user: 'who is guessed' })).toMatchObject([{ count: 1 }])
  expect(named(await all(audit, { client: 'beside', type: 'token.issued' }, 1000)).size).toBe(3001)
})

test('more tokens than any process issues in a second are told by the client alone, and none is lost', async () => {
  const own = createAudit(database, log)
  own.start()
  for (let n = 0; n < 12_000; n++) own.observe(ofAuthorization('beyond', n))
  await own.stop()
  const found = await all(audit, { client: 'beyond' }, 1000)
  expect(found.length).toBe(10_001)
  expect(counts(found)).toBe(12_000)
})

test('where tokens are merged, beyond 200 of a second too', async () => {
  const own = createAudit(database, log, 'merged')
  own.start()
  for (let n = 0; n < 1000; n++) own.observe(ofAuthorization('merged', n))
  await own.stop()
  const found = await all(audit, { client: 'merged' })
  expect(found.length).toBe(201)
  expect(counts(found)).toBe(1000)
})

test('a flood of what is refused is told by the client alone, and none is lost', async () => {
  const own = createAudit(database, log)
  own.start()
  for (let n = 0; n < 1000; n++) own.observe(refused('flood', `user ${n}`))
  await own.stop()
  const found = await all(audit, { client: 'flood' })
  expect(found.length).toBe(201)
  expect(counts(found)).toBe(1000)
})

test('every filter, each page and the order', async () => {
  for (const user of ['p1', 'p2', 'p1', 'p2', 'p1'])
    await audit.transaction(async (_query, note) => {
      note(signedIn(user))
      note({ type: 'consent.given', user, client: 'app', details: { scopes: ['openid'], resources: [] } })
    })
  const ofOne = await all(audit, { user: 'p1' }, 2)
  expect(ofOne.map(({ type }) => type)).toEqual(
    Array.from({ length: 3 }, () => ['consent.given', 'user.signed_in']).flat(),
  )
  expect(ofOne.map(({ id }) => id)).toEqual(
    ofOne
      .map(({ id }) => id)
      .toSorted()
      .toReversed(),
  )
  expect((await all(audit, { user: 'p1', type: 'consent.given' })).length).toBe(3)
  expect((await all(audit, { user: 'p2', client: 'app' })).length).toBe(2)
  expect((await all(audit, { client: 'app', type: 'user.signed_in' })).length).toBe(0)
  const [newest] = ofOne
  expect(await all(audit, { user: 'p1', until: newest!.at - 60_000 })).toEqual([])
  expect((await all(audit, { user: 'p1', since: newest!.at - 60_000 })).length).toBe(6)
  expect(await all(audit, { since: Number.MAX_SAFE_INTEGER })).toEqual([])
})

test('of the id of a request, what it did', async () => {
  const request = { actor: { kind: 'user', id: 'p3' }, ip: '192.0.2.1', id: 'request-1' }
  await runAs(request as never, async () =>
    audit.transaction(async (_query, note) =>
      note({ type: 'user.signed_out', user: 'p3', details: { sid: 'b', clients: [] } }),
    ),
  )
  expect(await all(audit, { requestId: 'request-1' })).toMatchObject([
    { address: '192.0.2.1', actor: { kind: 'user', id: 'p3' }, requestId: 'request-1' },
  ])
})
