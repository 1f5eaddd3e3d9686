/** `/admin/audit/export`: what was looked for as a file, of any length: page by page, as fast as it is read. */
import { Readable } from 'node:stream'
import type { AuditEvent } from '../../../src/events.ts'
import { Type } from '../../../src/protocol/schema.ts'
import {
  createAuditLog,
  type AuditFilter,
  type AuditLog,
  type AuditPage,
} from '../../../src/services/audit/audit-log.ts'
import { OAuthError } from '../../../src/protocol/errors.ts'
import { FilterQuery, parseFilter } from './audit-filter.ts'
import type { OwnArea } from '../area.ts'

const PAGE = 500

const FORMATS = {
  csv: {
    type: 'text/csv; charset=utf-8; header=present',
    head: csvLine(csvHead()),
    line: (event: AuditEvent) => csvLine(csvCells(event)),
  },
  jsonl: {
    type: 'application/jsonl; charset=utf-8',
    head: '',
    line: (event: AuditEvent) => `${JSON.stringify(event)}\n`,
  },
}

export function addAuditExport({ oauth, serve, listing: open }: OwnArea): void {
  serve({
    path: '/admin/audit/export',
    query: Type.Object({ ...FilterQuery.properties, format: Type.Enum(['csv', 'jsonl']) }),
    async show({ format, ...query }, call) {
      const { filter, errors } = await parseFilter(oauth, query)
      const [wrong] = Object.keys(errors)
      if (wrong !== undefined)
        throw new OAuthError('invalid_request', `the parameter ${wrong} names nothing here`)
      // The first page before the first byte: what fails here is still an answer of its own.
      const listing = await open(call)
      const log = createAuditLog(listing)
      const first = await log.list(filter, { limit: PAGE })
      const behind = listing.asOf()
      const day = new Date().toISOString().slice(0, 10)
      return call.reply
        .headers({
          'content-type': FORMATS[format].type,
          'content-disposition': `attachment; filename="audit-${day}.${format}"`,
          'cache-control': 'no-store',
          ...(behind === null ? {} : { 'last-modified': behind.time.toUTCString() }),
          'x-content-type-options': 'nosniff',
        })
        .send(exported(log, filter, first, format))
    },
  })
}

/** One page is read ahead, and no more. */
export function exported(
  log: Pick<AuditLog, 'list'>,
  filter: AuditFilter,
  first: AuditPage,
  format: keyof typeof FORMATS,
): Readable {
  const { head, line } = FORMATS[format]
  async function* chunks(): AsyncGenerator<string> {
    if (head !== '') yield head
    for (let page = first; ; page = await log.list(filter, { before: page.next, limit: PAGE })) {
      if (page.events.length > 0) yield page.events.map(line).join('')
      if (page.next === null) return
    }
  }
  return Readable.from(chunks(), { highWaterMark: 1 })
}

function csvHead(): string[] {
  return [
    'time',
    'type',
    'count',
    'actor_kind',
    'actor_id',
    'user_id',
    'client_id',
    'address',
    'request_id',
    'id',
    'details',
  ]
}

function csvCells({
  at,
  type,
  count,
  actor,
  user,
  client,
  address,
  requestId,
  id,
  details,
}: AuditEvent): string[] {
  const about = [user ?? '', client ?? '', address ?? '', requestId ?? '']
  return [
    new Date(at).toISOString(),
    type,
    String(count),
    actor.kind,
    actor.id ?? '',
    ...about,
    id,
    JSON.stringify(details),
  ]
}

/** RFC 4180. A cell that a spreadsheet would take for a formula begins with an apostrophe, which makes it text. */
function csvLine(cells: readonly string[]): string {
  const safe = cells.map((cell) => (/^[=+\-@\t\r]/.test(cell) ? `'${cell}` : cell))
  return `${safe.map((cell) => `"${cell.replaceAll('"', '""')}"`).join(',')}\r\n`
}
