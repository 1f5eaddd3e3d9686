/** Upstreams of SEED_FILE, by the rules of their registry. */
import type { FastifyBaseLogger } from 'fastify'
import type { NewEvent } from '../../events.ts'
import {
  assertSecret,
  layUpstream,
  parseUpstream,
  type StoredUpstream,
} from '../../protocol/upstream-information.ts'
import type { Database } from '../../store/database.ts'
import { statements } from '../../store/upstreams.ts'
import type { SecretBox } from '../keys/secret-box.ts'
import { changeEvent, secretContext, toRow, toStored } from '../upstreams/upstream-rows.ts'
import { at, type Placed, warnUnknown } from './seed-file.ts'
import type { SeededKind, Wanted } from './seeded-kind.ts'

interface Made {
  readonly isNew: boolean
  readonly after: StoredUpstream
  readonly event: NewEvent
}

/** What the entries say. Throws `ConfigError`. */
export function wantedUpstreams(
  entries: readonly Placed[],
  { issuer, log }: { issuer: string; log: FastifyBaseLogger },
): Wanted[] {
  return entries.map(({ place, entry }) =>
    at(place, () => {
      const { members, unknown } = parseUpstream(entry, issuer)
      warnUnknown(unknown, 'upstreams', log)
      const { id: key, ...said } = members
      return { key, place, members: said }
    }),
  )
}

export function seededUpstreams(database: Database, box: SecretBox): SeededKind<StoredUpstream, Made> {
  return {
    kind: 'upstream',
    section: 'upstreams',
    unordered: ['domains'],
    present: async (keys) => database.query(statements.present, [keys]),
    async lock(query, wanted) {
      const rows = await query(statements.lock, [wanted.map(({ key }) => key)])
      return new Map(rows.map((row) => [row.id, toStored(row)]))
    },
    // Sealed and not hashed: the same one stays as it is.
    secret: {
      name: 'client_secret',
      async hash(value, row, { key }) {
        const had = row?.client_secret
        const isSame = had && box.tryOpen(had, secretContext(key)) === value
        return isSame ? undefined : box.seal(value as string, secretContext(key))
      },
    },
    basis: ({ row, members }) => JSON.stringify([row ?? null, Object.keys(members)]),
    make({ wanted, row, members, hash }) {
      const { client_secret: said, ...others } = members
      const secret =
        said === null ? { client_secret: null } : hash === undefined ? {} : { client_secret: hash }
      const after = layUpstream(row, { id: wanted.key, ...others, ...secret })
      assertSecret(row, after, said)
      const event = changeEvent(row, after)
      return event === null ? undefined : { isNew: row === undefined, after, event }
    },
    async store(query, note, made) {
      for (const { isNew, after, event } of made) {
        await query(isNew ? statements.insert : statements.update, [JSON.stringify([toRow(after)])])
        note(event)
      }
      return made.map(({ after }) => after.id)
    },
  }
}
