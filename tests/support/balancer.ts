/** A proxy in front of several processes that sends each request to another one, in turn, so that they must agree. */
import { createServer, request } from 'node:http'
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { pipeline } from 'node:stream'
import { atEndOfFile } from './cleanup.ts'

export interface Balancer {
  url: string
  /** From the next request on. */
  sendTo(...ports: number[]): void
}

export async function startBalancer(): Promise<Balancer> {
  let ports: number[] = []
  let turn = 0
  const server = createServer((incoming, outgoing) => {
    const { method, url: path, headers } = incoming
    const port = ports[turn++ % ports.length]
    const fail = (): void => void outgoing.writeHead(502).end()
    if (port === undefined) return fail()
    const sent = request({ host: '127.0.0.1', port, method, path, headers, agent: false }, (answer) => {
      // Whoever asked has gone, as after a second click.
      if (outgoing.destroyed) {
        answer.destroy()
        return
      }
      outgoing.writeHead(answer.statusCode!, answer.rawHeaders)
      pipeline(answer, outgoing, () => {})
    })
    sent.on('error', fail)
    pipeline(incoming, sent, () => {})
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  atEndOfFile(async () => {
    server.close()
    server.closeAllConnections()
  })
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    sendTo: (...given) => void (ports = given),
  }
}
