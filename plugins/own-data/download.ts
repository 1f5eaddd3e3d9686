/** `/account/data/download`: all that is kept of a person as one file of JSON, page by page, as fast as it is read. */
import type { FastifyInstance } from 'fastify'
import { Readable } from 'node:stream'
import type { AuditEvent } from '../../src/events.ts'
import { kernelOf } from '../../src/http/kernel-of.ts'
import type { Bag } from '../../src/protocol/bag.ts'
import { Type } from '../../src/protocol/schema.ts'
import type { AuditLog } from '../../src/services/audit/audit-log.ts'
import { whoElse } from '../account/event-words.ts'
import type { AccountArea } from '../account/sections.ts'
import { DATA, DOWNLOAD } from './data-page.ts'

/** Events on one page. */
const PAGE = 500

export function addDownload(fastify: FastifyInstance, area: AccountArea): void {
  const { oauth } = fastify
  const { users } = kernelOf(fastify)

  area.serve({
    path: `/account${DOWNLOAD}`,
    query: Type.Object({}),
    async show(_query, call) {
      const again = area.signInAgain(call, area.uri(DATA))
      if (again !== undefined) return again
      const { id } = await area.userOf(call)
      // Before the first byte: what fails here is still an answer of its own.
      const { head, apps } = await users.exportByPage(id)
      const ways = { ways_to_sign_in: await users.waysIn(id) }
      const about = { issuer: oauth.issuer, exported_at: new Date().toISOString() }
      return call.reply
        .headers({
          'content-type': 'application/json',
          'content-disposition': 'attachment; filename="your-data.json"',
          'cache-control': 'no-store',
          'x-content-type-options': 'nosniff',
        })
        .send(written({ ...about, ...head, ...ways }, { apps, activity: activityOf(oauth.audit, id) }))
    },
  })
}

type Pages = AsyncIterable<readonly Bag[]>

/** As JSON: `head`, and then its lists, of which no more than two pages are held. */
function written(head: Bag, lists: Readonly<Record<string, Pages>>): Readable {
  async function* chunks(): AsyncGenerator<string> {
    yield JSON.stringify(head).slice(0, -1)
    for (const [name, pages] of Object.entries(lists)) {
      yield `,${JSON.stringify(name)}:[`
      let isFirst = true
      for await (const page of pages) {
        if (page.length === 0) continue
        yield `${isFirst ? '' : ','}${page.map((one) => JSON.stringify(one)).join(',')}`
        isFirst = false
      }
      yield ']'
    }
    yield '}'
  }
  return Readable.from(chunks(), { highWaterMark: 1 })
}

/** What happened to them, the latest first; what they did to others is about those. */
async function* activityOf(log: Pick<AuditLog, 'list'>, user: string): AsyncGenerator<Bag[]> {
  for (let before: string | null | undefined; before !== null;) {
    const page = await log.list({ user }, { before, limit: PAGE })
    yield page.events.filter((event) => event.user === user).map(toTold)
    before = page.next
  }
}

/** As programs read it. */
const BY = { administrator: 'an administrator', app: 'the app', service: 'this service' }

/** Where somebody else did it from, and as whom, is for nobody but them. */
function toTold(event: AuditEvent): Bag {
  const by = whoElse(event)
  return {
    at: new Date(event.at).toISOString(),
    type: event.type,
    count: event.count,
    by: by === null ? 'you' : BY[by],
    client_id: event.client ?? null,
    address: by === null ? event.address : null,
    details: event.details,
  }
}
