/**
 * The metadata with a signature over it (RFC 8414 §2.1), for clients that get it by ways that they do not trust. It is by the key that
 * signs now: once another does, the document is made anew, and until then the former one can be verified still.
 */
import type { FastifyBaseLogger } from 'fastify'
import type { Bag } from '../../src/protocol/bag.ts'
import type { KeyRing } from '../../src/services/keys/key-ring.ts'
import type { SignStatement } from '../../src/services/tokens/signed-statements.ts'

/** What every client knows. */
const ALGORITHM = 'RS256'

export interface SignedDocumentOptions {
  sign: SignStatement
  keys: Pick<KeyRing, 'signer'>
  log: FastifyBaseLogger
}

/** Returns what has the document, as it is to be served at the moment. */
export async function createSignedDocument(
  metadata: Bag,
  { sign, keys, log }: SignedDocumentOptions,
): Promise<() => Buffer> {
  let kid = ''
  let document!: Buffer
  let making: Promise<void> | undefined

  async function make(): Promise<void> {
    const by = keys.signer(ALGORITHM).kid
    const claims = { ...metadata, iat: Math.floor(Date.now() / 1000) }
    const signed_metadata = await sign(claims, { typ: 'metadata+jwt', algorithm: ALGORITHM })
    document = Buffer.from(JSON.stringify({ ...metadata, signed_metadata }))
    kid = by
  }

  await make()
  return () => {
    if (making === undefined && keys.signer(ALGORITHM).kid !== kid)
      making = make()
        .catch((error: unknown) => log.warn({ err: error }, 'the metadata could not be signed anew'))
        .finally(() => (making = undefined))
    return document
  }
}
