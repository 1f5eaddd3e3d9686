// Whether an app, or a scope of it, answers errors by a handler of its own. Fastify does not say so: its default is a function like
// any other, whose name a bundler may shorten, and which an app may give to a handler of its own.

/** Where Fastify keeps them: each has the one further out as its prototype, and the last of them is the default. */
const KEPT = 'fastify.errorHandler'
const DEFAULT = 'defaultErrorHandler'

/** `server` is the instance of a route. */
export function hasOwnErrorHandler(server: object): boolean {
  const kept: unknown = findKept(server)
  if (typeof kept === 'object' && kept !== null && 'func' in kept) return !isOutermost(kept)
  // A Fastify that keeps them elsewhere.
  return (server as { errorHandler?: { name?: string } }).errorHandler?.name !== DEFAULT
}

function findKept(server: object): unknown {
  for (let at: object | null = server; at !== null; at = Object.getPrototypeOf(at) as object | null) {
    const symbol = Object.getOwnPropertySymbols(at).find(({ description }) => description === KEPT)
    if (symbol !== undefined) return (at as Record<symbol, unknown>)[symbol]
  }
  return undefined
}

/** Nothing is behind it but what every object has. */
function isOutermost(kept: object): boolean {
  const behind = Object.getPrototypeOf(kept) as object | null
  return behind === null || Object.getPrototypeOf(behind) === null
}
