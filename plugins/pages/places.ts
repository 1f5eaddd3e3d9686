/** Where pages lead that are not about anything in particular: known once all plugins are registered, and nowhere that is not served. */
import type { FastifyInstance } from 'fastify'

export interface Places {
  /** Where people begin, and go on where nothing else leads: the home page or, where that is left out, their account. Null for neither. */
  start(): string | null
  /** Where people sign in who are on the way to no app; null where nobody does. */
  signIn(): string | null
}

export function createPlaces(fastify: FastifyInstance): Places {
  const { basePath } = fastify.oauth.config
  function firstOf(...paths: string[]): () => string | null {
    const all = paths.map((path) => basePath + path)
    let found: string | null | undefined
    return () => (found ??= all.find((url) => fastify.hasRoute({ method: 'GET', url })) ?? null)
  }
  return { start: firstOf('/', '/account'), signIn: firstOf('/sign-in') }
}

/** A way on that is a button, where there is such a place. */
export function leadingTo<T extends object>(place: string | null, button: T): (T & { href: string }) | null {
  return place === null ? null : { ...button, href: place }
}
