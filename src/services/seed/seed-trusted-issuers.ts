/** Trusted issuers of SEED_FILE, by the rules of their registry. */
import type { FastifyBaseLogger } from 'fastify'
import { parseTrustedIssuer } from '../../protocol/trusted-issuer-information.ts'
import type { Database } from '../../store/database.ts'
import { statements, type TrustedIssuerRow } from '../../store/trusted-issuers.ts'
import { madeOf, type MadeTrustedIssuer } from '../trusted-issuers/trusted-issuer-rows.ts'
import { at, type Placed, warnUnknown } from './seed-file.ts'
import type { SeededKind, Wanted } from './seeded-kind.ts'

/** What the entries say. Throws `ConfigError`. */
export function wantedTrustedIssuers(
  entries: readonly Placed[],
  { issuer, log }: { issuer: string; log: FastifyBaseLogger },
): Wanted[] {
  return entries.map(({ place, entry }) =>
    at(place, () => {
      const { members, unknown } = parseTrustedIssuer(entry, issuer)
      warnUnknown(unknown, 'trusted_issuers', log)
      const { issuer: key, ...said } = members
      return { key, place, members: said }
    }),
  )
}

export function seededTrustedIssuers(database: Database): SeededKind<TrustedIssuerRow, MadeTrustedIssuer> {
  return {
    kind: 'trusted_issuer',
    section: 'trusted_issuers',
    unordered: ['algorithms', 'audiences', 'scopes', 'resources', 'clients'],
    present: async (keys) => database.query(statements.present, [keys]),
    async lock(query, wanted) {
      const rows = await query(statements.lock, [wanted.map(({ key }) => key)])
      return new Map(rows.map((row) => [row.issuer, row]))
    },
    basis: ({ row, members }) => JSON.stringify([row ?? null, Object.keys(members)]),
    make: ({ wanted, row, members }) => madeOf(row, { issuer: wanted.key, ...members }) ?? undefined,
    async store(query, note, made) {
      for (const { isNew, row, event } of made) {
        await query(isNew ? statements.insert : statements.update, [JSON.stringify([row])])
        note(event)
      }
      return made.map(({ row }) => row.issuer)
    },
  }
}
