/** For PLUGINS: how much of its heap a server uses once all garbage is collected. */
import type { FastifyInstance } from 'fastify'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

export default async function heap(fastify: FastifyInstance): Promise<void> {
  setFlagsFromString('--expose-gc')
  const collect = runInNewContext('gc') as () => void
  fastify.get('/heap', async () => {
    collect()
    return { used: process.memoryUsage().heapUsed }
  })
}
