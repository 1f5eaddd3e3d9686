/** A trusted issuer between its row and its members, and what the audit log is told of a change. */
import { randomUUID } from 'node:crypto'
import type { NewEvent } from '../../events.ts'
import { changesBetween } from '../../protocol/changes.ts'
import {
  type LaidTrustedIssuer,
  layTrustedIssuer,
  type StoredTrustedIssuer,
  type SubjectMapping,
  trustedIssuerInformation,
} from '../../protocol/trusted-issuer-information.ts'
import type { TrustedIssuerRow } from '../../store/trusted-issuers.ts'

export interface MadeTrustedIssuer {
  readonly isNew: boolean
  readonly row: TrustedIssuerRow
  readonly event: NewEvent
}

export function toStored(row: TrustedIssuerRow): StoredTrustedIssuer {
  return {
    issuer: row.issuer,
    jwks_uri: row.jwksUri ?? null,
    jwks: row.jwks ?? null,
    algorithms: row.algorithms ?? null,
    audiences: row.audiences ?? null,
    subject: (row.subject as SubjectMapping | null | undefined) ?? null,
    subject_claim: row.subjectClaim ?? null,
    scopes: row.scopes ?? null,
    resources: row.resources ?? null,
    clients: row.clients ?? null,
    claims: row.claims ?? null,
    max_age: row.maxAge ?? null,
    reusable: row.reusable ?? null,
    disabled: row.disabled ?? null,
  }
}

/** With the members laid over what is there; null where nothing changes. Throws `invalid_client_metadata`. */
export function madeOf(
  before: TrustedIssuerRow | undefined,
  members: LaidTrustedIssuer,
): MadeTrustedIssuer | null {
  const had = before === undefined ? undefined : toStored(before)
  const after = layTrustedIssuer(had, members)
  const was = had === undefined ? {} : { ...trustedIssuerInformation(had) }
  const changes = changesBetween(was, { ...trustedIssuerInformation(after) })
  if (had !== undefined && Object.keys(changes).length === 0) return null
  const begins = before === undefined || (had?.disabled === true && after.disabled !== true)
  return {
    isNew: before === undefined,
    row: toRow(after, begins ? randomUUID() : before.generation),
    event: {
      type: before === undefined ? 'trusted_issuer.registered' : 'trusted_issuer.changed',
      details: { issuer: after.issuer, changes },
    },
  }
}

function toRow(stored: StoredTrustedIssuer, generation: string): TrustedIssuerRow {
  const { jwks_uri: jwksUri, subject_claim: subjectClaim, max_age: maxAge, ...others } = stored
  return { ...others, generation, jwksUri, subjectClaim, maxAge }
}
