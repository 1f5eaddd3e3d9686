/** Algorithms that clients are registered to be answered by: offered, and with a key before the first answer needs one. */
import type { FastifyBaseLogger } from 'fastify'
import type { Bag } from '../../protocol/bag.ts'
import { metadataError } from '../../protocol/errors.ts'
import { reason } from '../../protocol/message.ts'
import type { PublishedKeys } from '../keys/published-keys.ts'

/**
 * Has a key made and published for the algorithm that `member` names, in every process. Throws `invalid_client_metadata` for
 * one that is not offered.
 */
export function provideFor(
  metadata: Bag,
  member: string,
  { keys, log }: { keys: PublishedKeys; log: FastifyBaseLogger },
): void {
  const algorithm = metadata[member] as string | undefined
  if (algorithm === undefined) return
  if (!keys.algorithms.includes(algorithm))
    throw metadataError(member, reason('must be one of {names}', { names: keys.algorithms }))
  // If it cannot be made now, the first signature tries again.
  keys.provide(algorithm).catch((error: unknown) => log.warn({ err: error, algorithm }, 'no signing key yet'))
}
