/** For PLUGINS: how much of its heap a server uses once all garbage is collected, or with it (`?garbage`). */
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

export default async function heap(fastify: FastifyInstance): Promise<void> {
  setFlagsFromString('--expose-gc')
  const collect = runInNewContext('gc') as () => void
  fastify.get('/heap', async ({ query }: FastifyRequest) => {
    if (!('garbage' in (query as object))) collect()
    return { used: process.memoryUsage().heapUsed }
  })
}
