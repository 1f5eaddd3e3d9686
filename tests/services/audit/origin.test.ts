/** Whose request an event came by, also in an app whose requests carry more. */
import type { FastifyInstance } from 'fastify'
import { expect, test } from 'vitest'
import { actAs } from '../../../src/services/audit/origin.ts'
import { startServer } from '../../support/server.ts'

test('members that an app gives its requests are not taken for ours', async () => {
  const extend = (app: FastifyInstance) => {
    app.decorateRequest('requestId', 'theirs')
    app.get('/make', async () => app.oauth.clients.create({ client_id: 'made' }))
    app.get('/turn', async () =>
      actAs({ kind: 'client', id: 'made' }, async () => app.oauth.clients.delete('made')),
    )
  }
  const { get, database } = await startServer({}, { extend })
  for (const path of ['/make', '/turn']) expect((await get(path)).status).toBe(200)
  const events = await database.query<Record<string, unknown>>(
    `select actor_kind, actor_id, address, request_id from audit_events where client_id = 'made' order by id`,
  )
  expect(events).toEqual([
    { actor_kind: 'user', actor_id: null, address: '127.0.0.1', request_id: expect.any(String) as string },
    {
      actor_kind: 'client',
      actor_id: 'made',
      address: '127.0.0.1',
      request_id: expect.any(String) as string,
    },
  ])
  for (const { request_id: id } of events) expect(id).not.toBe('theirs')
})
