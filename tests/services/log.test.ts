import { expect, test } from 'vitest'
import { OutboundError } from '../../src/doors/outbound.ts'
import { Client } from '../../src/entities/client.ts'
import { loggingOptions } from '../../src/services/log.ts'
import { openDatabase } from '../../src/store/database.ts'
import { createDatabase } from '../support/database.ts'
import { recordingLog } from '../support/log.ts'

const VALUE = 'a-value-nobody-may-see'

test('a database error is logged by its code and place, without the values that it quotes', async () => {
  const { url, query } = await createDatabase()
  const database = await openDatabase({ url })
  const insert = `insert into clients (client_id) values ('${VALUE}')`
  await query(insert)
  const failures = [
    query(insert),
    query(`select '${VALUE}'::int`),
    query(`select ${VALUE.replaceAll('-', '_')}`),
    database.transactional(async (em) => {
      em.create(Client, { clientId: VALUE, redirectUris: [], scope: [], metadata: {} }, { persist: true })
    }),
  ]
  const { log, output } = recordingLog()
  for (const failure of await Promise.allSettled(failures)) {
    expect(failure.status).toBe('rejected')
    const err = (failure as PromiseRejectedResult).reason as Error
    log.error({ err }, 'it failed')
    log.error({ err })
    log.error(err)
    log.error({ err }, err.message)
  }
  await database.close()
  const lines = output()
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as { err: Record<string, string> })
  expect([...new Set(lines.map(({ err }) => err['message']))]).toEqual([
    'PostgreSQL refused: 23505 clients clients_pkey',
    'PostgreSQL refused: 22P02 ',
    'PostgreSQL refused: 42703 ',
  ])
  expect(output()).not.toContain(VALUE)
  expect(output()).not.toContain(VALUE.replaceAll('-', '_'))
})

test('another error keeps its message, its cause and where it happened; what is no error is not shown', () => {
  const { log, output } = recordingLog()
  log.error({ err: new TypeError('outer', { cause: new Error('inner') }) })
  log.error({ err: VALUE })
  log.error({ err: { secret: VALUE } })
  const [first, ...others] = output()
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as { err: Record<string, unknown> })
  expect(first!.err).toMatchObject({
    type: 'TypeError',
    message: 'outer',
    cause: { type: 'Error', message: 'inner' },
    stack: expect.stringContaining('log.test.ts'),
  })
  for (const { err } of others) expect(err).toMatchObject({ message: 'not an Error' })
  expect(output()).not.toContain(VALUE)
})

test('an address that could not be fetched is logged with the reason, which no client is told', () => {
  const { log, output } = recordingLog()
  const error = new OutboundError('127.0.0.1 is not on the public internet')
  expect(error.message).not.toContain('127.0.0.1')
  log.warn({ err: error }, 'a delivery failed; it is tried again')
  expect(JSON.parse(output())).toMatchObject({ err: { reason: '127.0.0.1 is not on the public internet' } })
})

test('causes are followed to a depth, and a ring of them ends', () => {
  const ring = new Error('ring')
  ring.cause = ring
  const { log, output } = recordingLog()
  log.error({ err: ring }, 'text')
  expect(output().match(/"ring"/g)).toHaveLength(5)
})

test('a line is JSON with level and time, and below the level there is none', () => {
  const { log, output } = recordingLog('info')
  log.debug('quiet')
  log.info({ a: 1 }, 'loud %s', 'and clear')
  expect(JSON.parse(output())).toEqual({
    level: 'info',
    time: expect.stringMatching(/^\d{4}-.*Z$/),
    a: 1,
    msg: 'loud and clear',
  })
})

test('each request has an id of its own, also after more than are drawn at once', () => {
  const { genReqId } = loggingOptions('info')
  const ids = Array.from({ length: 1000 }, () => (genReqId as () => string)())
  for (const id of ids) expect(id).toMatch(/^[0-9a-f]{32}$/)
  expect(new Set(ids).size).toBe(ids.length)
})
