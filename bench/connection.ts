// Owns one connection of the load generator, kept alive or new for each request: prebuilt bytes out, the smallest
// HTTP/1.1 parser that can tell a right answer from a wrong one in. A general client would cost more than the servers
// it measures.

import { connect, type Socket } from 'node:net'
import { judge } from './answer.ts'
import type { Feed } from './feed.ts'
import type { Expectation } from './load-protocol.ts'
import type { Pace } from './pace.ts'

export interface Traffic {
  port: number
  /** A new socket for each request. */
  closing: boolean
  pace: Pace
  feed: Feed
  expectation: Expectation
  /** Called for each response with the time that it took; an `error` is what was wrong with it. */
  onResponse: (milliseconds: number, error?: string) => void
  /** Called when there was nothing left to send. */
  onExhausted: () => void
  /** Called when the connection broke, which comes back no more. */
  onLost: () => void
}

export interface Connection {
  /** Sends nothing more; the response on its way is waited for. */
  close: () => Promise<void>
}

const headerEnd = Buffer.from('\r\n\r\n')

export function openConnection(traffic: Traffic): Connection {
  const { promise: closed, resolve: isClosed } = Promise.withResolvers<void>()
  let socket: Socket | undefined
  let closing = false
  /** Whether an answer is on its way, and from when its time counts. */
  let waiting = false
  let since = 0

  const end = () => {
    closing = true
    if (socket && !socket.destroyed) socket.once('close', () => isClosed()).end()
    else isClosed()
  }
  const lose = () => {
    if (!closing) traffic.onLost()
    end()
  }
  const send = (from: number) => {
    const bytes = closing ? undefined : traffic.feed.next()
    if (!bytes) {
      if (!closing) traffic.onExhausted()
      return end()
    }
    since = from
    waiting = true
    if (traffic.closing) socket = dial()
    socket?.write(bytes)
  }
  const finish = (error?: string, broken = false) => {
    waiting = false
    traffic.onResponse(performance.now() - since, error)
    if (broken || traffic.closing) socket?.destroy()
    if (broken && !traffic.closing) lose()
    else if (closing) end()
    else traffic.pace.wait(send)
  }
  const fail = (error: string) => {
    if (waiting) return finish(error, true)
    if (closing || traffic.closing) return
    traffic.onResponse(0, error)
    lose()
  }

  function dial(): Socket {
    const made = connect({ port: traffic.port, host: '127.0.0.1', noDelay: true })
    let received: Buffer = Buffer.alloc(0)
    made.on('error', (error) => made === socket && fail(error.message))
    made.on('end', () => made === socket && fail('connection closed by the server'))
    made.on('data', (chunk: Buffer) => {
      received = received.length === 0 ? chunk : Buffer.concat([received, chunk])
      const bodyStart = received.indexOf(headerEnd) + headerEnd.length
      if (bodyStart < headerEnd.length) return
      const head = received.toString('latin1', 0, bodyStart)
      const length = /\r\ncontent-length: *(\d+)/i.exec(head)?.[1]
      if (length === undefined) return fail(`no content-length: ${head}`)
      const bodyEnd = bodyStart + Number(length)
      if (received.length < bodyEnd) return
      if (received.length > bodyEnd) return fail('more bytes than one response')
      const body = received.toString('utf8', bodyStart, bodyEnd)
      const { feed, expectation } = traffic
      const { answer, error } = feed.judge?.(head, body) ?? judge(head, body, expectation)
      if (answer) traffic.feed.answered(answer)
      received = Buffer.alloc(0)
      // The server is done with this connection, and not with us.
      if (/\r\nconnection: *close/i.test(head) && !traffic.closing && !closing) {
        waiting = false
        traffic.onResponse(performance.now() - since, error)
        made.destroy()
        socket = dial().once('connect', () => (closing ? end() : traffic.pace.wait(send)))
        return
      }
      finish(error)
    })
    return made
  }

  if (traffic.closing) traffic.pace.wait(send)
  else socket = dial().once('connect', () => traffic.pace.wait(send))
  return {
    close: () => {
      closing = true
      if (!waiting) end()
      return closed
    },
  }
}
