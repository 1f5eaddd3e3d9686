/** Percent-encoding (RFC 3986 §2.1), as in the credentials of an address. */

/** Null where it is not well formed, or no UTF-8. */
export function percentDecoded(text: string): string | null {
  try {
    return decodeURIComponent(text)
  } catch {
    return null
  }
}
