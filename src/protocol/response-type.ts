/** Response types as they are known here: their order on the wire says nothing (OAuth 2.0 Multiple Response Type Encoding §5). */

/** The words in alphabetical order. */
export function orderedResponseType(type: string): string {
  return type.includes(' ') ? type.split(' ').toSorted().join(' ') : type
}

/** Whether `word` is one of it. */
export function asksFor(word: 'code' | 'id_token' | 'token', type: unknown): boolean {
  return typeof type === 'string' && type.split(' ').includes(word)
}

/** Whether a token comes with the answer of the authorization endpoint. */
export function answersWithTokens(type: unknown): boolean {
  return asksFor('token', type) || asksFor('id_token', type)
}

/** The grants without which a client cannot use these types (RFC 7591 §2.1, OpenID Connect Registration §2). */
export function grantTypesFor(types: readonly string[]): ('authorization_code' | 'implicit')[] {
  return [
    ...(types.some((type) => asksFor('code', type)) ? (['authorization_code'] as const) : []),
    ...(types.some(answersWithTokens) ? (['implicit'] as const) : []),
  ]
}
