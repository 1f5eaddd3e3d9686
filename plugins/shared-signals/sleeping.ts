/** Streams that are there while OIDC_SHARED_SIGNALS is off: their apps hear nothing, and nobody would notice. */
import { statements } from '../../src/store/plugin-records.ts'
import type { Database } from '../../src/store/database.ts'
import { KIND } from './streams.ts'

/** A sentence for operators; null where there are none. */
export async function sleepingStreams({ query }: Pick<Database, 'query'>): Promise<string | null> {
  const found = await query(statements.list, [KIND, '', 1])
  return found.length === 0
    ? null
    : 'OIDC_SHARED_SIGNALS is off, though apps have streams of security events: what happens now they never hear. Set it to on.'
}
