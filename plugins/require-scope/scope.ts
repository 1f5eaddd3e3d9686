// Scope names as a developer writes them on a route: checked once, when the route is made.

const SCOPE_TOKEN = /^[\x21\x23-\x5B\x5D-\x7E]+$/

/**
 * Checks the scopes that a route asks for and drops repeated ones.
 * @throws {TypeError} for a name that is no scope-token (RFC 6749 §3.3), such as `'a b'`
 */
export function assertScopes(scopes: readonly unknown[]): readonly string[] {
  for (const scope of scopes) {
    if (typeof scope === 'string' && SCOPE_TOKEN.test(scope)) continue
    const hint = typeof scope === 'string' && scope.includes(' ') ? '; name each scope by itself' : ''
    throw new TypeError(`requireScope: ${JSON.stringify(scope) ?? String(scope)} is no scope name${hint}`)
  }
  return [...new Set(scopes as readonly string[])]
}

/** Reads `config.scope` of a route: one name, or a list of names of which all are needed. */
export function readRouteScopes(scope: unknown): readonly string[] {
  return assertScopes(Array.isArray(scope) ? scope : [scope])
}
