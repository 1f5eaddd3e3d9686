/** What is spent with what it gives, whichever statement stores that. */
import type { Spend } from '../../doors/facts.ts'
import { statements } from '../../store/artifacts.ts'
import type { Query } from '../../store/statement.ts'
import type { SecretBox } from '../keys/secret-box.ts'
import { useOnce } from '../once.ts'

/** False for one that has expired or was spent before. */
export type SpendArtifact = (query: Query, spend: Spend) => Promise<boolean>

/** What one statement spends with what it stores: null for what is used once until an instant, and has a table of its own. */
export type ArtifactOf = (
  spend: Spend,
) => { readonly kind: string; readonly hashes: readonly string[] } | null

/** @internal */
export function createArtifactOf(box: SecretBox): ArtifactOf {
  return ({ kind, handle, until }) => (until === undefined ? { kind, hashes: box.hashes(handle) } : null)
}

/** @internal */
export function createSpendArtifact(box: SecretBox): SpendArtifact {
  return async (query, { kind, handle, until }) =>
    until === undefined
      ? (await query(statements.spend, [kind, box.hashes(handle)])).length > 0
      : useOnce(query, kind, handle, until)
}
