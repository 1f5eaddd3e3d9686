/** `/account/activity`: what happened to an account lately, for its owner to notice what was not them. */
import type { AuditEvent } from '../../src/events.ts'
import { type Message, message, type Words } from '../../src/protocol/message.ts'
import { Type } from '../../src/protocol/schema.ts'
import type { OwnArea } from './area.ts'
import { eventInWords, whoElse } from './event-words.ts'
import { faceOf } from '../pages/client-view.ts'

const PATH = '/activity'
const PAGE = 50
const NINETY_DAYS = 90 * 86_400_000
const BY: Readonly<Record<NonNullable<ReturnType<typeof whoElse>>, Message>> = {
  administrator: message('by an administrator'),
  app: message('by the app'),
  service: message('by this service'),
}

export function addActivity({ oauth, serve, uri, sessionOf }: OwnArea): void {
  async function toView(event: AuditEvent, what: Words) {
    const client = event.client === undefined ? null : await oauth.findClient(event.client)
    const app = client === null ? event.client : faceOf(client).name
    const by = whoElse(event)
    return {
      text: timesOf(event.count, app === undefined ? what : message('{what}: {app}', { what, app })),
      by: by === null ? null : BY[by],
      address: event.address,
      time: new Date(event.at),
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

function timesOf(count: number, what: Words): Words {
  return count === 1
    ? what
    : message('{what} ({count, plural, one {# time} other {# times}})', { what, count })
}
