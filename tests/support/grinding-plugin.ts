/** For PLUGINS: a route that keeps the whole process busy, one that says how often it was served, and a meeting. */
import type { FastifyInstance } from 'fastify'

/** Milliseconds: whoever asks must be faster, on a busy machine too. */
const GRIND = 5

export default async function grinding(fastify: FastifyInstance): Promise<void> {
  let served = 0
  let waiting: (() => void)[] = []

  fastify.get('/grind', async () => {
    const end = performance.now() + GRIND
    while (performance.now() < end);
    return { served: ++served }
  })
  fastify.get('/ground', async () => ({ served }))

  /** Answers when so many are there at once, each on a connection of its own. */
  fastify.get<{ Params: { count: string } }>('/meet/:count', async ({ params }) => {
    const all = new Promise<void>((resolve) => waiting.push(resolve))
    if (waiting.length === Number(params.count)) {
      for (const resolve of waiting) resolve()
      waiting = []
    }
    await all
    return {}
  })
}
