/** `/account/activity`: what happened to an account lately, for its owner to notice what was not them. */
import type { AuditEvent } from '../../src/events.ts'
import { Type } from '../../src/protocol/schema.ts'
import type { OwnArea } from './area.ts'
import { eventInWords, whoElse } from './event-words.ts'

const PATH = '/activity'
const PAGE = 50
const NINETY_DAYS = 90 * 86_400_000

export function addActivity({ oauth, serve, uri, sessionOf }: OwnArea): void {
  async function toView(event: AuditEvent, text: string) {
    const client = event.client === undefined ? null : await oauth.findClient(event.client)
    return {
      text,
      app: (client?.metadata['client_name'] as string | undefined) ?? event.client ?? null,
      by: whoElse(event),
      address: event.address,
      time: new Date(event.at),
      count: event.count,
    }
  }

  serve({
    path: `/account${PATH}`,
    query: Type.Object({ before: Type.Optional(Type.String()) }),
    async show({ before }, { request, reply }) {
      const { userId } = sessionOf(request)
      const filter = { user: userId, since: Date.now() - NINETY_DAYS }
      const page = await oauth.audit.list(filter, { before, limit: PAGE })
      const events = []
      for (const event of page.events) {
        const text = event.user === userId ? eventInWords(event) : undefined
        if (text !== undefined) events.push(await toView(event, text))
      }
      return reply.page('account-activity', {
        events,
        passwordUri: uri('/password'),
        sessionsUri: uri('/sessions'),
        nextUri: page.next === null ? null : uri(PATH, { before: page.next }),
        firstUri: before === undefined ? null : uri(PATH),
      })
    },
  })
}
