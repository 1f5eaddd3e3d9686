/** The routes that a server really has, for sweeps that no new route can slip through. */
import type { FastifyInstance } from 'fastify'

export interface Route {
  /** As it was registered, with the names of its parameters. */
  url: string
  methods: readonly string[]
}

/** From Fastify's own table. */
export function routesOf(server: FastifyInstance): Route[] {
  const above: string[] = []
  const lines = server.printRoutes({ commonPrefix: false }).split('\n')
  return lines.flatMap((line) => {
    const [, indent, path, methods] = /^([│ ]*)[├└]── (\S*) \(([A-Z, ]+)\)$/.exec(line) ?? []
    if (indent === undefined || path === undefined || methods === undefined) return []
    const depth = indent.length / 4
    above.length = depth
    above.push(path)
    return [{ url: above.join(''), methods: methods.split(', ') }]
  })
}
