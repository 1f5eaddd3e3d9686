/** HTTP by the byte, for what no client library would send. */
import { once } from 'node:events'
import { connect } from 'node:net'

export interface RawResponse {
  /** 0 when the server closed without a word. */
  status: number
  /** By lower-case name; the last of a repeated one. */
  headers: Record<string, string>
  body: string
  /** Everything that came, further responses included. */
  text: string
  /** Whether the server closed the connection, rather than leave it to us. */
  closed: boolean
}

/**
 * Sends `bytes` as they are and reads until the server closes, or is silent for `patience` milliseconds after it
 * has begun to answer. Rejects when no answer begins and the connection stays open for a minute.
 */
export async function sendRaw(url: string, bytes: string | Uint8Array, patience = 150): Promise<RawResponse> {
  const { hostname, port } = new URL(url)
  const socket = connect(Number(port), hostname)
  const chunks: Buffer[] = []
  let closed = true
  const timedOut = (): void => {
    if (chunks.length === 0) socket.destroy(new Error('the server neither answered nor closed'))
    closed = false
    socket.destroy()
  }
  socket.setTimeout(60_000, timedOut)
  socket.on('data', (chunk: Buffer) => {
    chunks.push(chunk)
    socket.setTimeout(patience)
  })
  // A server that refuses early may reset what we are still sending.
  socket.on('error', (error) => {
    if ((error as NodeJS.ErrnoException).code === undefined) chunks.length = 0
  })
  socket.write(typeof bytes === 'string' ? Buffer.from(bytes, 'latin1') : bytes)
  await once(socket, 'close')
  if (!closed && chunks.length === 0) throw new Error('the server neither answered nor closed')
  return { ...parse(Buffer.concat(chunks).toString('latin1')), closed }
}

function parse(text: string): Omit<RawResponse, 'closed'> {
  const end = text.indexOf('\r\n\r\n')
  const [statusLine = '', ...lines] = text.slice(0, Math.max(end, 0)).split('\r\n')
  const headers: Record<string, string> = {}
  for (const line of lines) {
    const colon = line.indexOf(':')
    headers[line.slice(0, colon).toLowerCase()] = line.slice(colon + 1).trim()
  }
  return { status: Number(statusLine.split(' ')[1] ?? 0), headers, body: text.slice(end + 4), text }
}
