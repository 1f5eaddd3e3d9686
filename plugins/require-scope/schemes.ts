// The HTTP authentication schemes under which tokens come: Bearer (RFC 6750 §2.1), and those of tokens that are bound to a key.

/** Whatever has tokens of a scheme of its own. */
export interface Schemed {
  readonly scheme: string
}

export const BEARER = 'Bearer'

/** The scheme of this name, whatever its case; undefined for one that no token here is presented under. */
export function schemeNamed(name: string, others: readonly Schemed[]): string | undefined {
  const wanted = name.toLowerCase()
  if (wanted === 'bearer') return BEARER
  return others.find(({ scheme }) => scheme.toLowerCase() === wanted)?.scheme
}

/** The one of a token that is bound in all of these ways; undefined where they do not agree. */
export function schemeOfAll(bound: Iterable<Schemed>): string | undefined {
  const own = new Set<string>()
  for (const { scheme } of bound) if (scheme !== BEARER) own.add(scheme)
  const [first = BEARER] = own
  return own.size < 2 ? first : undefined
}
