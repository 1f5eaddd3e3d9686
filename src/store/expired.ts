/**
 * Removes rows that nobody can use any more: 500 at most by each statement, the oldest first. None of these decides
 * what is good: who reads a row looks at its time.
 */
import type { EntityClass } from '@mikro-orm/core'
import { AccessToken, RevokedToken } from '../entities/access-token.ts'
import { Activity } from '../entities/audit-event.ts'
import { Artifact } from '../entities/artifact.ts'
import { AuthorizationCode } from '../entities/authorization-code.ts'
import { Change } from '../entities/change.ts'
import { ClientDocument } from '../entities/client-document.ts'
import { Consent } from '../entities/consent.ts'
import { OutboxEntry } from '../entities/outbox-entry.ts'
import { PendingSession } from '../entities/pending-session.ts'
import { Recipient } from '../entities/recipient.ts'
import { InitialToken } from '../entities/registration.ts'
import { SecurityEvent } from '../entities/security-event.ts'
import { Session } from '../entities/session.ts'
import { SpentHandle } from '../entities/spent-handle.ts'
import { Throttle } from '../entities/throttle.ts'
import { statement, type Statement, type Table } from './statement.ts'

/** Rows that one statement removes at most. */
export const BATCH = 500

export const statements = {
  artifacts: removal('artifacts-expired', Artifact, ['kind', 'hash'], 'expiresAt'),
  accessTokens: removal('access-tokens-expired', AccessToken, ['hash'], 'expiresAt', { kept: '1 hour' }),
  revokedTokens: removal('revoked-tokens-expired', RevokedToken, ['jti'], 'expiresAt', { kept: '1 hour' }),
  /** A process whose clock is behind may still take one for good. */
  spentHandles: removal('spent-handles-expired', SpentHandle, ['hash'], 'expiresAt', { kept: '10 minutes' }),
  sessions: removal('sessions-expired', Session, ['hash'], 'endsAt'),
  pendingSessions: removal('pending-sessions-expired', PendingSession, ['hash'], 'expiresAt'),
  /** Spent ones go with their Authorizations. */
  codes: removal('authorization-codes-expired', AuthorizationCode, ['authorizationId', 'hash'], 'expiresAt', {
    where: (code) => `${code.column('spentAt')} is null`,
  }),
  /** The change feed asks for no older ones, and loads everything anew after a gap of half as long. */
  changes: removal('changes-expired', Change, ['id'], 'changedAt', { kept: '1 hour' }),
  /** Such an instant in the past says that no failure is remembered. */
  activity: removal('activity-expired', Activity, ['hour', 'type', 'writer'], 'hour', { kept: '35 days' }),
  /** Given up, and still not tried again. */
  outbox: removal('outbox-expired', OutboxEntry, ['id'], 'triesUntil', { kept: '30 days' }),
  recipients: removal('recipients-expired', Recipient, ['kind', 'recipient'], 'seenAt', { kept: '30 days' }),
  securityEvents: removal('security-events-expired', SecurityEvent, ['stream', 'jti'], 'expiresAt'),
  /** Listed a while, so that people see which were used up. */
  initialTokens: removal('initial-tokens-expired', InitialToken, ['name'], 'expiresAt', { kept: '30 days' }),
  clientDocuments: removal('client-documents-expired', ClientDocument, ['clientId'], 'keptUntil'),
  consents: removal('consents-expired', Consent, ['user', 'client'], 'expiresAt'),
  throttles: removal('throttles-expired', Throttle, ['source', 'account'], 'freeAt', { kept: '1 day' }),
}

/** How many rows went. */
export interface Removed {
  removed: number
}

/** A row for each would be as many objects here, every minute. */
export function counting(removal: string): string {
  return `with gone as (${removal} returning 1) select count(*)::int as "removed" from gone`
}

interface RemovalOptions<E> {
  /** How long it stays, where clocks other than the database's have a say. */
  kept?: string
  where?: (table: Table<E>) => string
}

/** Removes those whose time `at` is over. */
function removal<E>(
  name: string,
  entity: EntityClass<E>,
  key: readonly (keyof E & string)[],
  at: keyof E & string,
  { kept = '0', where }: RemovalOptions<E> = {},
): Statement<Removed> {
  return statement(name, (table) => {
    const rows = table(entity)
    const keys = key.map((one) => rows.column(one))
    const each = (text: (column: string, at: number) => string, by = ', '): string => keys.map(text).join(by)
    const time = rows.column(at)
    const dead = [`${time} < now() - interval '${kept}'`, ...(where ? [where(rows)] : [])].join(' and ')
    // By arrays, so that the primary key serves in tables of any size. And asked again of the row itself: what was
    // replaced since it was selected stays.
    return counting(`delete from ${rows.name} using (
        select ${each((column, n) => `array_agg(${column}) as keys${n}`)}
        from (select ${keys.join(', ')} from ${rows.name} where ${dead} order by ${time} limit ${BATCH}) oldest
      ) doomed, unnest(${each((_, n) => `keys${n}`)}) as one (${each((_, n) => `key${n}`)})
      where ${each((column, n) => `${column} = key${n}`, ' and ')} and ${dead}`)
  })
}
