/**
 * What a link that is good once has just been used for, and in which browser: noted by the transaction that uses it up, so that a form that is sent
 * twice, also where the first answer was lost, is answered as the first one was.
 */
import { statements } from '../store/artifacts.ts'
import type { Query } from '../store/statement.ts'
import type { ArtifactStore } from './artifact-store.ts'
import type { SecretBox } from './keys/secret-box.ts'

/** A link, by its token, and what the browser is known by. */
export interface LinkUse {
  readonly token: string
  readonly browser: string
}

export interface UsedLinks<Value extends object> {
  /** In the transaction of `query`, which uses the link up. */
  note(query: Query, use: LinkUse, value: Value): Promise<void>
  /** Null where the browser has not used it within the last minute. */
  find(use: LinkUse): Promise<Value | null>
}

/** Seconds. */
const LIFETIME = 60

/** A link of one `kind` is none of another. */
export function createUsedLinks<Value extends object>(
  { artifacts, box }: Pick<ArtifactStore, 'artifacts'> & { box: Pick<SecretBox, 'hash'> },
  kind: string,
): UsedLinks<Value> {
  const used = artifacts<Value>(kind, { lifetime: LIFETIME })
  const handleOf = ({ token, browser }: LinkUse): string => `${browser} ${token}`
  return {
    async note(query, use, value) {
      await query(statements.put, [box.hash(handleOf(use)), kind, value, LIFETIME])
    },
    find: async (use) => used.get(handleOf(use)),
  }
}
