/**
 * The metadata with a signature over it (RFC 8414 §2.1), for clients that get it by ways that they do not trust. It is by the key that
 * signs now: once another does, the document is made anew, and until then the former one can be verified still. Where none can sign at
 * the start, it has no signature at first.
 */
import type { FastifyBaseLogger } from 'fastify'
import type { Bag } from '../../src/protocol/bag.ts'
import { OAuthError } from '../../src/protocol/errors.ts'
import type { KeyRing } from '../../src/services/keys/key-ring.ts'
import type { SignStatement } from '../../src/services/tokens/signed-statements.ts'

export interface SignedDocumentOptions {
  sign: SignStatement
  keys: Pick<KeyRing, 'keys' | 'signer'>
  algorithm: string
  log: FastifyBaseLogger
}

/** Returns what has the document, as it is to be served at the moment. */
export async function createSignedDocument(
  metadata: Bag,
  { sign, keys, algorithm, log }: SignedDocumentOptions,
): Promise<() => Buffer> {
  let kid = ''
  let document = Buffer.from(JSON.stringify(metadata))
  let making: Promise<void> | undefined

  /** The key that signs now; undefined where there is none yet. */
  function signs(): string | undefined {
    return keys.keys().some((one) => one.algorithm === algorithm) ? keys.signer(algorithm).kid : undefined
  }

  async function make(): Promise<void> {
    const by = signs()
    const claims = { ...metadata, iat: Math.floor(Date.now() / 1000) }
    const signed_metadata = await sign(claims, { typ: 'metadata+jwt', algorithm })
    document = Buffer.from(JSON.stringify({ ...metadata, signed_metadata }))
    kid = by ?? ''
  }

  await make().catch((error: unknown) => {
    if (!(error instanceof OAuthError)) throw error
  })
  return () => {
    const by = signs()
    if (making === undefined && by !== undefined && by !== kid)
      making = make()
        .catch((error: unknown) => log.warn({ err: error }, 'the metadata could not be signed anew'))
        .finally(() => (making = undefined))
    return document
  }
}
