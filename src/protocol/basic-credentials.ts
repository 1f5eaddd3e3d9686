/** The `Authorization: Basic` header of RFC 7617, as RFC 6749 §2.3.1 uses it for clients. */

export interface Credentials {
  clientId: string
  clientSecret: string
}

/** True when the header names the Basic scheme, in any case (RFC 9110 §11.1). */
export function isBasic(header: string | undefined): header is string {
  return header !== undefined && /^basic(?: |$)/i.test(header)
}

/**
 * Reads id and secret. RFC 6749 §2.3.1 form-encodes both before base64, and many clients do not: so both
 * readings are returned, the standard's first, and the caller lets the secret decide. Empty when the header is
 * not strict base64, not UTF-8, has no colon or no id.
 */
export function parseBasic(header: string): Credentials[] {
  const encoded = header.slice('basic'.length).trim()
  if (!/^[A-Za-z0-9+/]+={0,2}$/.test(encoded) || encoded.length % 4 !== 0) return []
  const text = decodeUtf8(Buffer.from(encoded, 'base64'))
  const colon = text?.indexOf(':') ?? -1
  if (text === undefined || colon < 1 || text.includes('\0')) return []
  const literal = { clientId: text.slice(0, colon), clientSecret: text.slice(colon + 1) }
  const decoded = formDecode(literal)
  if (decoded === undefined) return [literal]
  const same = decoded.clientId === literal.clientId && decoded.clientSecret === literal.clientSecret
  return same ? [literal] : [decoded, literal]
}

function formDecode({ clientId, clientSecret }: Credentials): Credentials | undefined {
  const decode = (text: string): string => decodeURIComponent(text.replaceAll('+', ' '))
  try {
    const decoded = { clientId: decode(clientId), clientSecret: decode(clientSecret) }
    return decoded.clientId.includes('\0') || decoded.clientSecret.includes('\0') ? undefined : decoded
  } catch {
    return undefined
  }
}

function decodeUtf8(bytes: Buffer): string | undefined {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  } catch {
    return undefined
  }
}
