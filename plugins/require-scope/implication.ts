// Scopes that hold others: who may write notes may read them. Written once, in the options, and followed as far as it leads.
import { assertScopes } from './scope.ts'

/** Whether a token with `granted` may do what needs `scope`. */
export type HoldsScope = (granted: ReadonlySet<string>, scope: string) => boolean

/**
 * By what each scope implies.
 * @throws {TypeError} for a name that is no scope-token
 */
export function createHoldsScope(implies: Readonly<Record<string, readonly string[]>> = {}): HoldsScope {
  if (Array.isArray(implies)) throw new TypeError('requireScope: implies must be an object of lists')
  const holders = new Map<string, Set<string>>()
  for (const broad of assertScopes(Object.keys(implies)))
    for (const scope of impliedBy(broad, implies)) {
      const known = holders.get(scope) ?? new Set()
      holders.set(scope, known.add(broad))
    }
  return (granted, scope) => {
    if (granted.has(scope)) return true
    for (const holder of holders.get(scope) ?? []) if (granted.has(holder)) return true
    return false
  }
}

function impliedBy(broad: string, implies: Readonly<Record<string, readonly string[]>>): Set<string> {
  const found = new Set<string>()
  const next = [broad]
  for (let scope = next.pop(); scope !== undefined; scope = next.pop()) {
    if (!Object.hasOwn(implies, scope)) continue
    const given: unknown = implies[scope]
    if (!Array.isArray(given)) throw new TypeError(`requireScope: implies has no list for ${scope}`)
    for (const one of assertScopes(given)) {
      if (found.has(one)) continue
      found.add(one)
      next.push(one)
    }
  }
  return found
}
