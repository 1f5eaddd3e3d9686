/** Receivers whose poll waits for the next event (RFC 8936 §2.5): a bounded number of a stream and in a process, and none while it stops. */
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
  /** Null where too many wait. Where too many of the stream do, the first of them is over. */
  begin(stream: string, response: ServerResponse): Waiter | null
}

/** Milliseconds. */
const LONGEST = 15_000
const MOST = 500
/** Of a stream: processes of its receiver that each ask again when they are answered, and would end each other's questions. */
const MOST_OF_ONE = 10

type Wake = (isOver: boolean) => void

export function createWaiting(fastify: FastifyInstance): Waiting {
  const { feed } = kernelOf(fastify)
  const waiters = new Map<string, Set<Wake>>()
  let count = 0
  let stopping = false

  function leave(key: string, wake: Wake): void {
    const own = waiters.get(key)
    if (own?.delete(wake) !== true) return
    count--
    if (own.size === 0) waiters.delete(key)
  }

  feed.on('delivery', ({ key }) => waiters.get(key)?.forEach((wake) => wake(false)))
  // A connection that waits would keep the server from closing.
  fastify.addHook('preClose', async () => {
    stopping = true
    for (const own of waiters.values()) for (const wake of own) wake(true)
  })

  return {
    begin(stream, response) {
      const key = changeOf({ id: stream })
      const own = waiters.get(key) ?? new Set()
      const [first] = own
      const isFull = count >= MOST
      if (stopping || (isFull && first === undefined)) return null
      if (first !== undefined && (isFull || own.size >= MOST_OF_ONE)) {
        first(true)
        leave(key, first)
      }
      let over = false
      let woken = false
      let resolve = (): void => {}
      const wake: Wake = (isOver) => {
        over ||= isOver
        woken = true
        resolve()
      }
      waiters.set(key, own.add(wake))
      count++
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
          leave(key, wake)
        },
      }
    },
  }
}
