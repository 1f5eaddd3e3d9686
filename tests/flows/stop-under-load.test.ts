/**
 * SIGTERM, and what was sent before it or while it is obeyed: whoever got through to the server gets an answer. A
 * connection that is refused is no loss, since nothing was sent on it.
 */
import { once } from 'node:events'
import { Agent, type IncomingMessage, request } from 'node:http'
import { connect } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { childrenOf } from '../support/children.ts'
import { atEndOfFile } from '../support/cleanup.ts'
import { underLoad } from '../support/load.ts'
import { type SpawnedServer, spawnServer } from '../support/process.ts'

const CLIENTS = 32
const SIZES = [{ WORKERS: 1 }, { WORKERS: 2 }]

interface Outcome {
  /** The status, or how it ended without one. */
  what: number | string
  closes: boolean
}

/** GET /healthz, on a connection of the agent's. */
async function ask({ url }: SpawnedServer, agent: Agent): Promise<Outcome> {
  const asked = request(`${url}/healthz`, { agent }).end()
  try {
    const [response] = (await once(asked, 'response')) as [IncomingMessage]
    await response.toArray()
    const closes = response.headers.connection === 'close'
    return { what: response.statusCode ?? 0, closes }
  } catch (error) {
    return { what: (error as NodeJS.ErrnoException).code ?? String(error), closes: false }
  }
}

function agentOf(keepAlive: boolean): Agent {
  const agent = new Agent({ keepAlive })
  atEndOfFile(async () => agent.destroy())
  return agent
}

/** What came of the requests beside answers and refused connections. */
function lost(outcomes: readonly Outcome[]): Record<string, number> {
  const kinds = Object.groupBy(outcomes, ({ what }) => String(what))
  return Object.fromEntries(
    Object.entries(kinds)
      .filter(([what]) => what !== '200' && what !== 'ECONNREFUSED')
      .map(([what, all]) => [what, all!.length]),
  )
}

test.each(SIZES)(
  'requests that were sent before SIGTERM are answered: $WORKERS worker(s)',
  async (settings) => {
    const server = await spawnServer(settings)
    // It stands still, as on a machine that has no time for it.
    process.kill(server.pid, 'SIGSTOP')
    const sent = Array.from({ length: 8 }, async () => ask(server, agentOf(false)))
    // Whoever connects after them finds them in the system's queue.
    const last = connect(Number(new URL(server.url).port), '127.0.0.1').on('error', () => {})
    await once(last, 'connect')
    last.destroy()
    const end = server.stop()
    process.kill(server.pid, 'SIGCONT')
    expect(lost(await Promise.all(sent))).toEqual({})
    expect(await end).toBe(0)
  },
)

test.each([
  ...SIZES.map((size) => ({ ...size, keepAlive: false })),
  ...SIZES.map((size) => ({ ...size, keepAlive: true })),
])(
  `SIGTERM beside ${CLIENTS} clients loses no request: $WORKERS worker(s), connections kept: $keepAlive`,
  async ({ WORKERS, keepAlive }) => {
    const server = await spawnServer({ WORKERS, LOG_LEVEL: 'info' })
    const agents = Array.from({ length: CLIENTS }, () => agentOf(keepAlive))
    let turn = 0
    const load = underLoad(async () => ask(server, agents[turn++ % CLIENTS]!), CLIENTS, 0)
    await load.more(500)
    const status = await server.stop()
    const outcomes = await load.stop()
    expect(lost(outcomes)).toEqual({})
    expect(status).toBe(0)
    // Who keeps connections is told, also by an answer to what was asked before.
    const last = outcomes.filter(({ what }) => what === 200).slice(-CLIENTS)
    expect(last.filter(({ closes }) => !closes)).toEqual([])
  },
)

test('a worker whose supervisor stands still answers, and ends', async () => {
  const server = await spawnServer({ WORKERS: 2 })
  const agents = Array.from({ length: 8 }, () => agentOf(true))
  const askAll = async () => Promise.all(agents.map(async (agent) => ask(server, agent)))
  // Every connection is with one of the workers.
  expect(lost(await askAll())).toEqual({})
  const workers = await childrenOf(server.pid)
  process.kill(server.pid, 'SIGSTOP')
  try {
    for (const worker of workers) process.kill(worker, 'SIGTERM')
    const outcomes = await Promise.race([askAll(), sleep(5000)])
    expect(outcomes?.map(({ what }) => what)).toEqual(agents.map(() => 200))
  } finally {
    process.kill(server.pid, 'SIGCONT')
  }
  expect(await server.stop()).toBe(0)
})

/** Milliseconds in which one kept connection lets the others wait for so long again. */
const GRACE = 500

test('kept connections may still ask while others do', async () => {
  for (;;) {
    const server = await spawnServer({})
    const agents = Array.from({ length: 4 }, () => agentOf(true))
    for (const agent of agents) expect(await ask(server, agent)).toEqual({ what: 200, closes: false })
    let before = performance.now()
    const end = server.stop()
    const [outcomes, pauses]: [Outcome[], number[]] = [[], []]
    for (const agent of agents) {
      await sleep(200)
      pauses.push(performance.now() - before)
      before = performance.now()
      outcomes.push(await ask(server, agent))
    }
    expect(await end).toBe(0)
    // Who was late on a busy machine has asked for nothing: they come again.
    if (pauses.some((pause) => pause > GRACE - 100)) continue
    expect(outcomes).toEqual(agents.map(() => ({ what: 200, closes: true })))
    return
  }
})
