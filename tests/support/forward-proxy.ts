/** A proxy for what goes out: it connects whoever asks (RFC 9110 §9.3.6), and finds out by itself where names lead. */
import { readFile } from 'node:fs/promises'
import { createServer as createPlainServer, type IncomingMessage } from 'node:http'
import { createServer } from 'node:https'
import { once } from 'node:events'
import { type AddressInfo, connect, type Socket } from 'node:net'
import { atEndOfFile } from './cleanup.ts'
import type { Certificate } from './deployed.ts'

export interface ForwardProxy {
  /** Without credentials. */
  url: string
  /** What it was asked to connect to so far, each with the credentials that came along. */
  asked: { to: string | undefined; credentials: string | undefined }[]
}

/** All names lead to this machine; `answer` is the line of status for each, with 200 by default; null for none at all. */
export async function startForwardProxy(
  answer: () => string | null = () => '200 Connected',
  certificate?: Certificate,
): Promise<ForwardProxy> {
  const asked: ForwardProxy['asked'] = []
  const sockets = new Set<Socket>()
  const server =
    certificate === undefined
      ? createPlainServer()
      : createServer({ cert: await readFile(certificate.certificate), key: await readFile(certificate.key) })
  server.on('connection', (socket: Socket) => sockets.add(socket))
  server.on('connect', ({ url, headers }: IncomingMessage, socket: Socket) => {
    asked.push({ to: url, credentials: headers['proxy-authorization'] })
    const status = answer()
    if (status === null) return
    if (!status.startsWith('200')) {
      socket.end(`HTTP/1.1 ${status}\r\n\r\n`)
      return
    }
    const there = connect(Number(new URL(`https://${url}`).port), '127.0.0.1')
    sockets.add(there)
    for (const one of [socket, there]) one.on('error', () => {})
    socket.write(`HTTP/1.1 ${status}\r\n\r\n`)
    there.pipe(socket).pipe(there)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  atEndOfFile(async () => {
    sockets.forEach((socket) => socket.destroy())
    server.close()
  })
  const { port } = server.address() as AddressInfo
  return { url: `http${certificate === undefined ? '' : 's'}://localhost:${port}`, asked }
}
