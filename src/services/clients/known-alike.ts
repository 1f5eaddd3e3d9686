/** What a client that changes its own registration keeps, since by it people are known to it (OpenID Connect Core §8.1). */
import { metadataError } from '../../protocol/errors.ts'
import { sectorIdentifier } from '../../protocol/sector-identifier.ts'
import { toMetadata, type StoredClient } from '../../protocol/stored-client.ts'

/**
 * By whom a client knows people stays: a pairwise `sub` follows from its sector, and who moved to the host of
 * another client with tokens in hand would learn by which `sub` that one knows the same people. Throws `OAuthError` (`invalid_client_metadata`) that
 * names the member.
 */
export function assertKnownAlike(had: StoredClient, client: StoredClient): void {
  const [before, after] = [toMetadata(had, false), toMetadata(client, false)]
  if ((before.subject_type ?? 'public') !== (after.subject_type ?? 'public'))
    throw metadataError('subject_type', 'cannot be changed')
  if (after.subject_type === 'pairwise' && sectorIdentifier(before) !== sectorIdentifier(after))
    throw metadataError(
      after.sector_identifier_uri === undefined ? 'redirect_uris' : 'sector_identifier_uri',
      'must keep the host when the subject_type is pairwise',
    )
}
