/** What is looked for in the audit log, as it stands in an address: read from it, and written back. */
import type { Static } from 'typebox'
import { isDay } from '../../../src/protocol/day.ts'
import { Type } from '../../../src/protocol/schema.ts'
import type { AuditFilter } from '../../../src/services/audit/audit-log.ts'
import { message, type Words } from '../../../src/protocol/message.ts'
import { isUuid } from '../../../src/protocol/uuid.ts'
import type { OAuth } from '../../oauth/index.ts'

const Text = () => Type.Optional(Type.String())
/** A user by name or id; days are those of UTC. */
export const FilterQuery = Type.Object({
  type: Text(),
  user: Text(),
  client_id: Text(),
  request_id: Text(),
  from: Text(),
  to: Text(),
})
export type FilterQuery = Static<typeof FilterQuery>

const NAMES = ['type', 'user', 'client_id', 'request_id', 'from', 'to'] as const
export type FilterField = (typeof NAMES)[number]
export type FilterErrors = Readonly<Partial<Record<FilterField, Words>>>

const DAY = 86_400_000

/** What was typed, by the field. */
export function typedFilter(query: FilterQuery): Record<FilterField, string> {
  const entries = NAMES.map((name) => [name, query[name]?.trim() ?? ''] as const)
  return Object.fromEntries(entries) as Record<FilterField, string>
}

/** For an address; fields without a value are left out. */
export function filterAddress(query: FilterQuery): Record<string, string> {
  return Object.fromEntries(Object.entries(typedFilter(query)).filter(([, value]) => value !== ''))
}

/** What `AuditLog.list` takes, or what is wrong with which field. */
export async function parseFilter(
  { users }: Pick<OAuth, 'users'>,
  query: FilterQuery,
): Promise<{ filter: AuditFilter; errors: FilterErrors }> {
  const typed = typedFilter(query)
  const errors: { -readonly [Name in FilterField]?: Words } = {}
  const [since, lastDay] = [dayOf(typed.from), dayOf(typed.to)]
  if (Number.isNaN(since)) errors.from = message('This is not a day: choose one.')
  if (Number.isNaN(lastDay)) errors.to = message('This is not a day: choose one.')
  const user = await idOf(users, typed.user)
  if (user === null) errors.user = message('No user has this name.')
  const filter: AuditFilter = {
    type: typed.type || undefined,
    user: user ?? undefined,
    client: typed.client_id || undefined,
    requestId: typed.request_id || undefined,
    since,
    until: lastDay === undefined ? undefined : lastDay + DAY,
  }
  return { filter, errors }
}

/** The beginning of a day, in milliseconds since the epoch; NaN for what is none. */
function dayOf(text: string): number | undefined {
  if (text === '') return undefined
  return isDay(text) ? Date.parse(`${text}T00:00:00Z`) : Number.NaN
}

/** Undefined for nobody in particular; null for a name that nobody has. */
async function idOf(users: OAuth['users'], text: string): Promise<string | undefined | null> {
  if (text === '') return undefined
  if (isUuid(text.toLowerCase())) return text.toLowerCase()
  return (await users.find(text))?.id ?? null
}
