/** Receivers whose poll waits for the next event (RFC 8936 §2.5): one for each stream, a bounded number in a process, and none while it stops. */
import type { FastifyInstance } from 'fastify'
import type { ServerResponse } from 'node:http'
import { kernelOf } from '../../src/http/kernel-of.ts'
import { changeOf } from './queue.ts'

export interface Waiter {
  /** True when something came for its stream, and false when its time is over, or nobody waits for the answer any more. */
  next(): Promise<boolean>
  end(): void
}

export interface Waiting {
  /** Null where too many wait. A former one of the stream is over. */
  begin(stream: string, response: ServerResponse): Waiter | null
}

/** Milliseconds. */
const LONGEST = 15_000
const MOST = 500

export function createWaiting(fastify: FastifyInstance): Waiting {
  const { feed } = kernelOf(fastify)
  const waiters = new Map<string, { wake(isOver: boolean): void }>()
  let stopping = false

  feed.on('delivery', ({ key }) => waiters.get(key)?.wake(false))
  // A connection that waits would keep the server from closing.
  fastify.addHook('preClose', async () => {
    stopping = true
    for (const waiter of waiters.values()) waiter.wake(true)
  })

  return {
    begin(stream, response) {
      const key = changeOf({ id: stream })
      const former = waiters.get(key)
      if (stopping || (former === undefined && waiters.size >= MOST)) return null
      former?.wake(true)
      let over = false
      let woken = false
      let resolve = (): void => {}
      const wake = (isOver: boolean): void => {
        over ||= isOver
        woken = true
        resolve()
      }
      const waiter = { wake }
      waiters.set(key, waiter)
      const stop = (): void => wake(true)
      const timer = setTimeout(stop, LONGEST)
      response.once('close', stop)
      return {
        async next() {
          if (!woken) await new Promise<void>((done) => (resolve = done))
          woken = false
          return !over
        },
        end() {
          clearTimeout(timer)
          response.off('close', stop)
          if (waiters.get(key) === waiter) waiters.delete(key)
        },
      }
    },
  }
}
