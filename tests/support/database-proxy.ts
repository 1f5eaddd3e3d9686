/** A TCP proxy in front of PostgreSQL, on loopback: connections through it can be cut, refused and restored. */
import { once } from 'node:events'
import { type AddressInfo, type Server, type Socket, connect, createServer } from 'node:net'
import { join } from 'node:path'
import { atEndOfFile } from './cleanup.ts'

export interface DatabaseProxy {
  /** The connection string of the same database, through the proxy. */
  url: string
  /** Ends every connection at once and refuses new ones. */
  cut(): Promise<void>
  /** Passes nothing on any more, or no answers, and ends nothing, as a network does that has lost the other side. */
  stall(what?: 'everything' | 'answers'): void
  /** Takes connections again, and passes on what was held; to another server when its connection string is given. */
  restore(upstream?: string): Promise<void>
  /**
   * Cuts the next connection that sends `text`: before the server sees it, or after what it asks for was committed, so
   * that only the answer is lost. With `since`, the next one that has sent that before.
   */
  cutAt(text: string, when: 'before' | 'after', since?: string): void
}

export async function startDatabaseProxy(upstream: string): Promise<DatabaseProxy> {
  const sockets = new Set<Socket>()
  /** Those of them that lead to the database. */
  const upstreams = new WeakSet<Socket>()
  let target = upstream
  let trap: { text: string; when: 'before' | 'after'; since?: string | undefined } | undefined
  let stalled: 'everything' | 'answers' | undefined
  const stands = (socket: Socket): boolean =>
    stalled === 'everything' || (stalled === 'answers' && upstreams.has(socket))
  let server = await listen(0)
  const { port } = server.address() as AddressInfo

  async function listen(port: number): Promise<Server> {
    const listener = createServer(accept).listen(port, '127.0.0.1')
    await once(listener, 'listening')
    return listener
  }

  function accept(client: Socket): void {
    const database = connectTo(target)
    const end = () => [client, database].forEach((socket) => socket.destroy())
    upstreams.add(database)
    for (const socket of [client, database]) {
      sockets.add(socket)
      if (stands(socket)) socket.pause()
      socket.on('error', end).once('close', () => sockets.delete(socket) && end())
    }
    let answer: Buffer | undefined
    let asked = ''
    let armed: typeof trap
    client.on('data', (bytes) => {
      if (trap?.since === undefined || bytes.includes(trap.since)) armed = trap
      if (trap === undefined || armed !== trap || !bytes.includes(trap.text))
        return void database.write(bytes)
      const { text, when } = trap
      trap = undefined
      if (when === 'before') return end()
      answer = Buffer.alloc(0)
      database.write(bytes)
      asked = text
    })
    database.on('data', (bytes: Buffer) => {
      if (answer === undefined) return void client.write(bytes)
      answer = Buffer.concat([answer, bytes])
      const outcome = outcomeOf(answer)
      if (outcome === 'committed') return end()
      if (outcome === undefined) return
      client.write(answer)
      answer = outcome === 'failed' ? undefined : Buffer.alloc(0)
      // It will be sent again.
      if (outcome === 'failed') trap = { text: asked, when: 'after' }
    })
  }

  async function cut(): Promise<void> {
    if (!server.listening) return
    server.close()
    for (const socket of sockets) socket.destroy()
    await once(server, 'close')
  }

  atEndOfFile(cut)
  const url = new URL(upstream)
  url.host = `127.0.0.1:${port}`
  url.search = ''
  return {
    url: url.href,
    cut,
    stall(what = 'everything') {
      stalled = what
      for (const socket of sockets) if (stands(socket)) socket.pause()
    },
    async restore(next = target) {
      target = next
      stalled = undefined
      for (const socket of sockets) socket.resume()
      if (!server.listening) server = await listen(port)
    },
    cutAt(text, when, since) {
      trap = { text, when, since }
    },
  }
}

/** What an answer of PostgreSQL says, once it is whole (its messages: a type, a length, a body). */
function outcomeOf(answer: Buffer): 'committed' | 'failed' | 'in a transaction' | undefined {
  let failed = false
  for (let at = 0; at + 5 <= answer.length; at += 1 + answer.readUInt32BE(at + 1)) {
    const type = String.fromCharCode(answer[at]!)
    if (type === 'E') failed = true
    if (type !== 'Z' || at + 5 >= answer.length) continue
    if (failed) return 'failed'
    return answer[at + 5] === 'I'.charCodeAt(0) ? 'committed' : 'in a transaction'
  }
  return undefined
}

/** By the Unix socket that the connection string names as `host`, or by TCP. */
export function connectTo(connectionString: string): Socket {
  const { hostname, port, searchParams } = new URL(connectionString)
  const directory = searchParams.get('host')
  return directory?.startsWith('/')
    ? connect(join(directory, `.s.PGSQL.${port || 5432}`))
    : connect(Number(port || 5432), directory ?? hostname)
}
