/** `/admin/audit`: the audit log, the newest first, a page at a time; what is looked for stands in the address. */
import { Type } from '../../../src/protocol/schema.ts'
import { createAuditLog } from '../../../src/services/audit/audit-log.ts'
import { filterAddress, FilterQuery, parseFilter, typedFilter } from './audit-filter.ts'
import { auditRows } from './audit-rows.ts'
import { typeOptions } from './audit-words.ts'
import type { OwnArea } from '../area.ts'

const PAGE = 50
const DAY = 86_400
const PATH = '/audit'

export function addAuditList(area: OwnArea): void {
  const { oauth, serve, uri } = area
  const expire = area.kernel.config.OIDC_AUDIT_EXPIRE

  serve({
    path: `/admin${PATH}`,
    query: Type.Object({ ...FilterQuery.properties, before: Type.Optional(Type.String()) }),
    async show({ before, ...query }, call) {
      const listing = await area.listing(call)
      const { filter, errors } = await parseFilter(oauth, query)
      const refused = Object.keys(errors).length > 0
      const { events, next } = refused
        ? { events: [], next: null }
        : await createAuditLog(listing).list(filter, { before, limit: PAGE })
      const address = filterAddress(query)
      const typed = typedFilter(query)
      const model = {
        action: uri(PATH),
        filter: typed,
        errors: Object.fromEntries(
          Object.keys(typed).map((name) => [name, errors[name as keyof typeof typed] ?? null]),
        ),
        types: typeOptions(typed.type),
        filtered: Object.keys(address).length > 0,
        rows: await auditRows(area, events),
        behind: listing.asOf(),
        nextUri: next === null ? null : uri(PATH, { ...address, before: next }),
        // The search read as much as one page may, and there is more: down to this instant nothing else was found.
        searchedTo: next !== null && events.length < PAGE ? new Date(instantOf(next)) : null,
        newestUri: before === undefined ? null : uri(PATH, address),
        allUri: uri(PATH),
        csvUri: uri(`${PATH}/export`, { format: 'csv', ...address }),
        jsonLinesUri: uri(`${PATH}/export`, { format: 'jsonl', ...address }),
        keptDays: expire === 0 ? null : Math.floor(expire / DAY),
      }
      return call.reply.page('admin-audit', model, { status: refused ? 400 : 200 })
    },
  })
}

/** The instant that an event's id begins with, in milliseconds since the epoch. */
function instantOf(id: string): number {
  return Number.parseInt(id.slice(0, 8) + id.slice(9, 13), 16)
}
