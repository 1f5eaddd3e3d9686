/** The key by which Apple knows an app: a file `AuthKey_*.p8`, with a private key of P-256 in PEM (RFC 5958, RFC 7468). */
import { createPrivateKey, type KeyObject } from 'node:crypto'
import { metadataError } from './errors.ts'
import { reason } from './message.ts'

const PEM = /^\s*-----BEGIN PRIVATE KEY-----([A-Za-z0-9+/=\s]+)-----END PRIVATE KEY-----\s*$/

/** Also without its line breaks, which fields of pages take away. Throws `invalid_client_metadata` that names `client_secret`. */
export function readAppleKey(text: string): KeyObject {
  const [, body] = PEM.exec(text) ?? []
  try {
    const key = createPrivateKey({
      key: Buffer.from(body ?? '', 'base64'),
      format: 'der',
      type: 'pkcs8',
    })
    if (key.asymmetricKeyDetails?.namedCurve === 'prime256v1') return key
  } catch {
    // No key of any kind.
  }
  throw metadataError(
    'client_secret',
    reason('must be the key that Apple gave you: all of the file AuthKey_*.p8'),
  )
}
