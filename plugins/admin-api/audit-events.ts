/** `/audit-events`: what happened, the newest first. */
import type { FastifyInstance } from 'fastify'
import { isDay } from '../../src/protocol/day.ts'
import { Type } from '../../src/protocol/schema.ts'
import { auditEventToWire } from '../../src/services/audit/audit-event-wire.ts'
import { Instant } from './instants.ts'
import { cursorOf, limitOf, listAnswer, ListQuery, pageOf } from './lists.ts'
import type { AdminApi } from './operations.ts'
import { memberProblem } from './refusals.ts'

const Text = (description: string) => Type.Optional(Type.String({ maxLength: 256, description }))
const When = (description: string) =>
  Type.Optional(Type.String({ maxLength: 40, format: 'date-time', description }))
const Query = Type.Object({
  ...ListQuery.properties,
  type: Text('Only those of this type, such as user.signed_in.'),
  user: Text('The sub of a user: events about them, or by them.'),
  client_id: Text('Events about this client, or by it.'),
  request_id: Text('Events of one request.'),
  since: When('From this instant on.'),
  until: When('Before this instant.'),
})
const EventSchema = Type.Object(
  {
    id: Type.String(),
    at: Instant(),
    type: Type.String(),
    count: Type.Integer({ description: 'How many of them are told of together.' }),
    actor: Type.Object({ kind: Type.String(), id: Type.Optional(Type.String()) }),
    user: Type.Optional(Type.String()),
    client_id: Type.Optional(Type.String()),
    address: Type.Optional(Type.String()),
    request_id: Type.Optional(Type.String()),
    details: Type.Object({}),
  },
  { title: 'AuditEvent' },
)

export function addAuditEvents({ oauth }: FastifyInstance, api: AdminApi): void {
  api.serve({
    method: 'GET',
    path: '/audit-events',
    name: 'listAuditEvents',
    summary: 'What happened, the newest first; a page may have none and still go on',
    scope: 'latchkey:audit:read',
    query: Query,
    answer: listAnswer('events', EventSchema),
    async handle(query) {
      const { type, user, client_id: client, request_id: requestId } = query
      const filter = {
        type,
        user,
        client,
        requestId,
        since: instantOf('since', query.since),
        until: instantOf('until', query.until),
      }
      const before = cursorOf(query)
      const { events, next } = await oauth.audit.list(filter, { before, limit: limitOf(query) })
      return pageOf('events', events.map(auditEventToWire), next === null ? null : [next])
    },
  })
}

function instantOf(name: string, text: string | undefined): number | undefined {
  if (text === undefined) return undefined
  const time = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)$/i.test(text)
    ? Date.parse(text)
    : NaN
  if (Number.isNaN(time) || !isDay(text.slice(0, 10)))
    throw memberProblem(name, 'must be an instant, such as 2026-01-31T12:00:00Z')
  return time
}
