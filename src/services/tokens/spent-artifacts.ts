/** Artifacts that are spent with what they give, whichever statement stores that. */
import type { Spend } from '../../doors/facts.ts'
import { statements } from '../../store/artifacts.ts'
import type { Query } from '../../store/statement.ts'
import type { SecretBox } from '../keys/secret-box.ts'

/** False for one that has expired or was spent before. */
export type SpendArtifact = (query: Query, spend: Spend) => Promise<boolean>

/** @internal */
export function createSpendArtifact(box: SecretBox): SpendArtifact {
  return async (query, { kind, handle }) =>
    (await query(statements.spend, [kind, box.hashes(handle)])).length > 0
}
