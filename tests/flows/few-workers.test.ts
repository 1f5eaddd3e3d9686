/** WORKERS_SPREAD=false on a quiet machine: connections lie with one of them, with more when it is busy, and nobody notices. */
import { readdir, readFile, readlink } from 'node:fs/promises'
import { Agent, request } from 'node:http'
import { resolve } from 'node:path'
import { expect, test } from 'vitest'
import { childrenOf } from '../support/children.ts'
import { atEndOfFile } from '../support/cleanup.ts'
import { spawnServer } from '../support/process.ts'

const isLinux = process.platform === 'linux'
const server = await spawnServer({
  WORKERS: 3,
  WORKERS_SPREAD: false,
  PLUGINS: resolve(import.meta.dirname, '../support/grinding-plugin.ts'),
})
const port = Number(new URL(server.url).port)
const ESTABLISHED = '01'
/** That a worker may have of others, who asked whether the server is there. */
const FEW = 3

/** How many connections of ours each worker has, in the order of their ids. */
async function held(): Promise<number[]> {
  const lines = (await readFile('/proc/net/tcp', 'utf8')).split('\n').map((line) => line.trim().split(/\s+/))
  const ours = new Set<string>()
  for (const [, local = '', , state, , , , , , inode = ''] of lines)
    if (Number.parseInt(local.split(':')[1] ?? '', 16) === port && state === ESTABLISHED)
      ours.add(`socket:[${inode}]`)
  const workers = (await childrenOf(server.pid)).toSorted((a, b) => a - b)
  return Promise.all(
    workers.map(async (pid) => {
      const files = await readdir(`/proc/${pid}/fd`)
      const links = await Promise.all(
        files.map(async (file) => readlink(`/proc/${pid}/fd/${file}`).catch(() => '')),
      )
      return links.filter((link) => ours.has(link)).length
    }),
  )
}

/** A client that keeps its connections, as a proxy does. */
const agent = new Agent({ keepAlive: true, maxSockets: 24 })
atEndOfFile(async () => agent.destroy())

async function ask(path = '/healthz', by = agent): Promise<string> {
  return new Promise((resolve) => {
    request(new URL(path, server.url), { agent: by }, (response) => {
      response.resume().once('end', () => resolve(String(response.statusCode)))
    })
      .once('error', ({ message }) => resolve(message))
      .end()
  })
}

/** All connections are with one; on a busy machine it takes a while until it is quiet. */
async function gathered(): Promise<void> {
  const holders = async (): Promise<number> => {
    expect(new Set(await rush())).toEqual(new Set(['200']))
    return (await held()).filter((count) => count > FEW).length
  }
  await expect.poll(holders, { timeout: 80_000, interval: 1500 }).toBe(1)
}

const rush = async (): Promise<string[]> => Promise.all(Array.from({ length: 24 }, async () => ask()))

test.runIf(isLinux)('who keeps connections is answered by one worker', async () => {
  await expect.poll(async () => (await childrenOf(server.pid)).length).toBe(3)
  await gathered()
}) // prettier-ignore

const BURST = 150
/** How many of so many connections that are opened at once each has who has more than a few. */
async function heldOfBurst(): Promise<number[]> {
  await gathered()
  const burst = new Agent({ keepAlive: true, maxSockets: BURST })
  const before = await held()
  const answers = await Promise.all(Array.from({ length: BURST }, async () => ask('/jwks', burst)))
  const after = await held()
  burst.destroy()
  expect(new Set(answers)).toEqual(new Set(['200']))
  return after.map((count, at) => count - before[at]!).filter((more) => more > FEW)
}

test.runIf(isLinux)('a burst of connections is answered by one worker, too', async () => {
  // On a busy machine it may be more than one can do.
  await expect.poll(heldOfBurst, { timeout: 80_000 }).toEqual([BURST])
}) // prettier-ignore

test.runIf(isLinux)('when one has no time left, the others help, and no request is lost in it', async () => {
  const over = new AbortController()
  const outcomes = new Map<string, number>()
  const lanes = Array.from({ length: 24 }, async () => {
    while (!over.signal.aborted) {
      const outcome = await ask('/grind')
      outcomes.set(outcome, (outcomes.get(outcome) ?? 0) + 1)
    }
  })
  await expect.poll(async () => (await held()).filter((count) => count > FEW).length).toBeGreaterThan(1)
  over.abort()
  await Promise.all(lanes)
  expect([...outcomes.keys()]).toEqual(['200'])
})

test.runIf(isLinux)(
  'nobody is kept waiting by one that stands still, though it was the one to take all',
  async () => {
    const [first] = (await childrenOf(server.pid)).toSorted((a, b) => a - b)
    process.kill(first!, 'SIGSTOP')
    const resume = atEndOfFile(async () => process.kill(first!, 'SIGCONT'))
    const fresh = async (): Promise<string> =>
      new Promise((resolve) => {
        request(new URL('/healthz', server.url), { agent: new Agent(), timeout: 1000 }, (response) => {
          response.resume().once('end', () => resolve(String(response.statusCode)))
        })
          .once('timeout', function (this: { destroy(): void }) {
            this.destroy()
          })
          .once('error', ({ message }) => resolve(message))
          .end()
      })
    // One at most is handed to it and waits there; all others are answered.
    const answers = await Promise.all(Array.from({ length: 12 }, fresh))
    expect(answers.filter((answer) => answer === '200').length).toBeGreaterThanOrEqual(11)
    await resume()
  },
)
