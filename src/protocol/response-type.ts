/** Response types as they are known here: their order on the wire says nothing (OAuth 2.0 Multiple Response Type Encoding §5). */

/** The words in alphabetical order. */
export function orderedResponseType(type: string): string {
  return type.includes(' ') ? type.split(' ').toSorted().join(' ') : type
}
