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
  /** Passes nothing on any more and ends nothing, as a network does that has lost the other side. */
  stall(): void
  /** Takes connections again, and passes on what was held; to another server when its connection string is given. */
  restore(upstream?: string): Promise<void>
  /**
   * Cuts the next connection that sends `text`: before the server sees it, or after, so that only the answer
   * is lost.
   */
  cutAt(text: string, when: 'before' | 'after'): void
}

export async function startDatabaseProxy(upstream: string): Promise<DatabaseProxy> {
  const sockets = new Set<Socket>()
  let target = upstream
  let trap: { text: string; when: 'before' | 'after' } | undefined
  let stalled = false
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
    for (const socket of [client, database]) {
      sockets.add(socket)
      if (stalled) socket.pause()
      socket.on('error', end).once('close', () => sockets.delete(socket) && end())
    }
    let deaf = false
    client.on('data', (bytes) => {
      if (trap === undefined || !bytes.includes(trap.text)) return void database.write(bytes)
      const { when } = trap
      trap = undefined
      if (when === 'before') return end()
      deaf = true
      database.write(bytes)
    })
    database.on('data', (bytes) => (deaf ? end() : client.write(bytes)))
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
    stall() {
      stalled = true
      for (const socket of sockets) socket.pause()
    },
    async restore(next = target) {
      target = next
      stalled = false
      for (const socket of sockets) socket.resume()
      if (!server.listening) server = await listen(port)
    },
    cutAt(text, when) {
      trap = { text, when }
    },
  }
}

/** By the Unix socket that the connection string names as `host`, or by TCP. */
export function connectTo(connectionString: string): Socket {
  const { hostname, port, searchParams } = new URL(connectionString)
  const directory = searchParams.get('host')
  return directory?.startsWith('/')
    ? connect(join(directory, `.s.PGSQL.${port || 5432}`))
    : connect(Number(port || 5432), directory ?? hostname)
}
