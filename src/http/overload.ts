/**
 * Refuses requests that would wait for longer than a second, before anything of them is done. Two lines are measured by
 * a probe that waits in them like everybody: the threads and the event loop of the process, and the connections to the
 * database. While it is under way no more are let in than were answered in a second the last time (Little's law). Nothing
 * is counted down again, so no request can be forgotten in there; and one whose body is still coming is in no line yet.
 */
import type { FastifyInstance, FastifyRequest } from 'fastify'
import fp from 'fastify-plugin'
import { randomFill } from 'node:crypto'
import { promisify } from 'node:util'
import type { Config } from '../config.ts'
import { shed } from '../services/shedding.ts'
import { beforeRoutes } from './before-routes.ts'
import { formText } from './forms.ts'
import { kernelOf } from './kernel-of.ts'

/** Milliseconds that a line may take. */
const PATIENCE = 1000
/** Milliseconds from one probe to the next. */
const INTERVAL = 100
/** So many at once are no overload, however long they take: the machine may have stood still. */
const FEW = 500
/** Nor so many for each connection to the database. */
const FEW_EACH = 10
/** Requests that are let in without a look at the lines. */
const STRIDE = 50
/** So often what is asked of the database waits for the event loop: in a process that is slow, its database seems so too. */
const PASSES = 3
/** As a rule this grant needs no connection, and goes on while the database does not. */
const WITHOUT_DATABASE = /(?:^|&)grant_type=client_credentials(?:&|$)/

interface MeasuredLine {
  /** Whether one more would wait in it for too long. */
  isFull(now: number): boolean
  /** Milliseconds that it took the last time, or takes by now. */
  wait(now: number): number
}

async function overload(fastify: FastifyInstance, { config }: { config: Config }): Promise<void> {
  const few = Math.max(FEW, FEW_EACH * config.DATABASE_POOL_SIZE)
  /** Let in behind a probe where the last one was quick. */
  const many = 4 * few
  const fill = promisify(randomFill)
  const byte = Buffer.alloc(1)
  /** Requests that were let in since the start, those of the stride included. */
  let entered = 0
  let unseen = 0

  function measured(probe: () => Promise<unknown>): MeasuredLine {
    let underWay = false
    let sent = -INTERVAL
    let before = 0
    let took = 0
    let room = many

    async function send(now: number): Promise<void> {
      underWay = true
      sent = now
      before = entered
      // One that fails has waited as well.
      await probe().catch(() => {})
      took = performance.now() - sent
      room = Math.max(took > PATIENCE ? few : many, ((entered - before) * PATIENCE) / took)
      underWay = false
    }

    return {
      isFull(now) {
        if (!underWay && now - sent >= INTERVAL) void send(now)
        if (!underWay) return false
        const since = entered - before
        return since >= room || (since >= few && now - sent > PATIENCE)
      },
      wait: (now) => Math.max(took, underWay ? now - sent : 0),
    }
  }

  const process = measured(async () => fill(byte))
  const database = measured(async () => kernelOf(fastify).database.ping())

  function look(request: FastifyRequest): Error | undefined {
    const now = performance.now()
    const [tooMuch, tooSlow] = [process.isFull(now), database.isFull(now)]
    if (tooMuch || tooSlow) {
      unseen = 0
      const wait = process.wait(now)
      const forAll = tooMuch || wait > PATIENCE
      if (!forAll && WITHOUT_DATABASE.test(formText(request))) return undefined
      return shed(forAll || wait > PATIENCE / PASSES ? 'process' : 'database')
    }
    entered += STRIDE + 1
    unseen = STRIDE
    return undefined
  }

  // Not async: it runs before nearly every request that is complete.
  beforeRoutes(fastify, (request, _reply, done) => {
    if (--unseen >= 0) done()
    else done(look(request))
  })
}

/** Registered before the routes it watches. */
export default fp(overload, { name: 'latchkey-overload' })
