/** A host of somebody else's that the server asks: over https or http, on an address of the loopback network. */
import { readFile } from 'node:fs/promises'
import { createServer as createPlainServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { createServer } from 'node:https'
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import type { TLSSocket } from 'node:tls'
import { text } from 'node:stream/consumers'
import { atEndOfFile } from './cleanup.ts'
import type { Certificate } from './deployed.ts'

export interface Received {
  method: string
  url: string
  headers: IncomingMessage['headers']
  body: string
  /** The name that TLS was asked for. */
  servername: string | false | null | undefined
}

export interface Receiver {
  port: number
  /** What came so far. */
  received: Received[]
  /** Connections so far, also those that asked nothing. */
  connections(): number
  close(): Promise<void>
}

export interface ReceiverOptions {
  certificate?: Certificate
  host?: string
  port?: number
}

/** `answer` gets each request once its body is there. */
export async function startReceiver(
  answer: (request: Received, response: ServerResponse) => unknown,
  { certificate, host = '127.0.0.1', port = 0 }: ReceiverOptions = {},
): Promise<Receiver> {
  const received: Received[] = []
  let connections = 0
  const handle = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const { method = '', url = '', headers } = request
    const { servername } = request.socket as TLSSocket
    const one = { method, url, headers, body: await text(request), servername }
    received.push(one)
    await answer(one, response)
  }
  const listener = (request: IncomingMessage, response: ServerResponse) => void handle(request, response)
  const server =
    certificate === undefined
      ? createPlainServer(listener)
      : createServer(
          { cert: await readFile(certificate.certificate), key: await readFile(certificate.key) },
          listener,
        )
  server.on('connection', () => connections++)
  server.listen({ host, port })
  await once(server, 'listening')
  const close = atEndOfFile(async () => {
    server.closeAllConnections()
    server.close()
    await once(server, 'close')
  })
  return { port: (server.address() as AddressInfo).port, received, connections: () => connections, close }
}
