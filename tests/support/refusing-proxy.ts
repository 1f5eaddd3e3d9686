/**
 * A proxy in front of PostgreSQL that has each kind of request of our server refused once (40001, 40P01 in turn), also
 * those that only read, and `begin` and `commit`: PostgreSQL gets a statement that raises the error instead, so that the
 * transaction is as undone as the answer says.
 */
import { once } from 'node:events'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import { atEndOfFile } from './cleanup.ts'
import { connectTo } from './database-proxy.ts'

export interface RefusingProxy {
  /** The connection string of the same database, through the proxy. */
  url: string
  /** What was refused so far: names of prepared statements, or texts. */
  refused: ReadonlySet<string>
}

/** Milliseconds after a refusal in which there is no other one: nobody is refused until their patience ends. */
const PAUSE = 40
/** Refusals in a row, without a transaction that ends between them: one may hold more kinds than it is tried again. */
const MOST_IN_A_ROW = 3
const CODES = ['40001', '40P01']
/** The types of messages that end a request: the first one, a password, a simple query, Sync, and the end. */
const ENDS = new Set(['', 'p', 'Q', 'S', 'X'])

export async function startRefusingProxy(upstream: string): Promise<RefusingProxy> {
  const refused = new Set<string>()
  const sockets = new Set<Socket>()
  let pauseUntil = 0
  let inARow = 0

  /** The request, or what is sent in its place. */
  function replace(request: Buffer, kinds: readonly string[]): Buffer {
    const isPause = performance.now() < pauseUntil || inARow === MOST_IN_A_ROW
    if (isPause || kinds.every((kind) => refused.has(kind))) {
      if (kinds.includes('commit')) inARow = 0
      return request
    }
    pauseUntil = performance.now() + PAUSE
    inARow++
    const code = CODES[refused.size % CODES.length]
    for (const kind of kinds) refused.add(kind)
    return simpleQuery(
      `do $$ begin raise exception using errcode = '${code}', message = 'refused for a test'; end $$`,
    )
  }

  const server = createServer((client) => {
    const database = connectTo(upstream)
    for (const [socket, other] of [[client, database], [database, client]] as const) {
      sockets.add(socket)
      socket.on('error', () => other.destroy()).once('close', () => sockets.delete(socket) && other.destroy())
    }
    client.on('data', readRequests((request, kinds) => database.write(replace(request, kinds))))
    database.on('data', (bytes) => client.write(bytes))
  }).listen(0, '127.0.0.1') // prettier-ignore
  await once(server, 'listening')
  atEndOfFile(async () => {
    server.close()
    for (const socket of sockets) socket.destroy()
  })
  const url = new URL(upstream)
  url.host = `127.0.0.1:${(server.address() as AddressInfo).port}`
  url.search = ''
  return { url: url.href, refused }
}

/**
 * Cuts what a client sends into requests: all up to a Sync, or one simple query. The first message of a connection, which
 * has no type, and the client's password are passed on as they come, as requests of no kind.
 */
function readRequests(take: (request: Buffer, kinds: readonly string[]) => void): (bytes: Buffer) => void {
  let rest: Buffer = Buffer.alloc(0)
  let began = false
  let messages: Buffer[] = []
  let kinds: string[] = []

  function pass(): void {
    const [request, their] = [Buffer.concat(messages), kinds]
    messages = []
    kinds = []
    take(request, their)
  }

  function next(): boolean {
    const offset = began ? 1 : 0
    if (rest.length < offset + 4) return false
    const length = offset + rest.readInt32BE(offset)
    if (rest.length < length) return false
    const message = rest.subarray(0, length)
    rest = rest.subarray(length)
    messages.push(message)
    const type = began ? String.fromCharCode(message[0]!) : ''
    began = true
    const kind = kindOf(type, message)
    if (kind !== undefined) kinds.push(kind)
    if (ENDS.has(type)) pass()
    return true
  }

  return (bytes) => {
    rest = rest.length === 0 ? bytes : Buffer.concat([rest, bytes])
    while (next());
  }
}

/** A prepared statement's name, or a text without its values; what follows a failure anyway is not refused. */
function kindOf(type: string, message: Buffer): string | undefined {
  const [first = '', second = ''] = message.subarray(5).toString('latin1').split('\0')
  if (type === 'B' && second !== '') return second
  const text = type === 'Q' ? first : type === 'P' && first === '' ? second : ''
  if (text === '' || text === 'rollback') return undefined
  return text.replaceAll(/'(?:[^']|'')*'|\b\d+\b/g, '?')
}

function simpleQuery(text: string): Buffer {
  const body = Buffer.from(`${text}\0`)
  const head = Buffer.from('Q\0\0\0\0', 'latin1')
  head.writeInt32BE(body.length + 4, 1)
  return Buffer.concat([head, body])
}
