/** For whoever runs the server: is the process up, and can it serve (database, keys; not while it stops). */
import type { FastifyInstance } from 'fastify'
import fp from 'fastify-plugin'
import { passive } from '../src/http/before-routes.ts'
import { kernelOf } from '../src/http/kernel-of.ts'

/** Whoever asks would else take a busy process for a dead one. */
const OPTIONS = { config: { [passive]: true } }
/** Milliseconds. */
const KEPT = 250

async function health(fastify: FastifyInstance, { standalone }: { standalone: boolean }): Promise<void> {
  const { database, keys, config } = kernelOf(fastify)

  let pinged: Promise<boolean> | undefined

  /** For all who ask meanwhile, and a moment after: whoever asks often takes no connections from others. */
  async function ping(): Promise<boolean> {
    pinged ??= database
      .ping()
      .then(
        () => true,
        () => false,
      )
      .finally(() => setTimeout(() => (pinged = undefined), KEPT).unref())
    return pinged
  }

  async function problems(): Promise<string[]> {
    if (fastify.drain.begun) return ['stopping']
    const found: string[] = []
    if (!(await ping())) found.push('database')
    if (keys.keys().length === 0 || keys.troubles().length > 0) found.push('keys')
    return found
  }

  // Whoever probes a server of ours need not know the issuer's path; the root of another app is not ours.
  const { basePath } = config
  for (const prefix of new Set(standalone ? ['', basePath] : [basePath])) {
    fastify.get(`${prefix}/healthz`, OPTIONS, async (_request, reply) =>
      reply.header('cache-control', 'no-store').send({ status: 'ok' }),
    )
    fastify.get(`${prefix}/readyz`, OPTIONS, async (_request, reply) => {
      const found = await problems()
      reply.header('cache-control', 'no-store')
      if (found.length === 0) return { status: 'ready' }
      return reply.code(503).header('retry-after', '2').send({ status: 'not ready', problems: found })
    })
  }
}

export default fp(health, {
  name: 'latchkey-health',
  dependencies: ['latchkey-oauth', 'latchkey-drain'],
  encapsulate: true,
})
