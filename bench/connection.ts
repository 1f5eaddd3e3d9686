// Owns one keep-alive connection of the load generator: prebuilt bytes out, the smallest HTTP/1.1 parser that
// can tell a right answer from a wrong one in. A general client would cost more than the servers it measures.

import { connect, type Socket } from 'node:net'
import { judge } from './answer.ts'
import type { Expectation } from './load-protocol.ts'
import type { Feed } from './supply.ts'

export interface Traffic {
  port: number
  feed: Feed
  expectation: Expectation
  /** Called for each response with the time that it took; an `error` is what was wrong with it. */
  onResponse: (milliseconds: number, error?: string) => void
  /** Called when there was nothing left to send. */
  onExhausted: () => void
}

export interface Connection {
  /** Sends nothing more; the response on its way is waited for. */
  close: () => Promise<void>
}

const headerEnd = Buffer.from('\r\n\r\n')

export function openConnection(traffic: Traffic): Connection {
  const socket: Socket = connect({ port: traffic.port, host: '127.0.0.1', noDelay: true })
  let received: Buffer = Buffer.alloc(0)
  let closing = false
  let sentAt = performance.now()

  const send = () => {
    const bytes = closing ? undefined : traffic.feed.next()
    if (bytes) {
      sentAt = performance.now()
      socket.write(bytes)
      return
    }
    if (!closing) traffic.onExhausted()
    closing = true
    socket.end()
  }
  const fail = (error: string) => {
    if (!closing) traffic.onResponse(performance.now() - sentAt, error)
    socket.destroy()
  }

  socket.on('connect', send)
  socket.on('error', (error) => fail(error.message))
  socket.on('end', () => fail('connection closed by the server'))
  socket.on('data', (chunk: Buffer) => {
    received = received.length === 0 ? chunk : Buffer.concat([received, chunk])
    const bodyStart = received.indexOf(headerEnd) + headerEnd.length
    if (bodyStart < headerEnd.length) return
    const head = received.toString('latin1', 0, bodyStart)
    const length = /\r\ncontent-length: *(\d+)/i.exec(head)?.[1]
    if (length === undefined) return fail(`no content-length: ${head}`)
    const bodyEnd = bodyStart + Number(length)
    if (received.length < bodyEnd) return
    if (received.length > bodyEnd) return fail('more bytes than one response')
    const time = performance.now() - sentAt
    const { answer, error } = judge(head, received.toString('utf8', bodyStart, bodyEnd), traffic.expectation)
    if (answer) traffic.feed.answered(answer)
    traffic.onResponse(time, error)
    received = Buffer.alloc(0)
    send()
  })

  return {
    close: () => {
      closing = true
      return new Promise((resolve) => {
        if (socket.destroyed) resolve()
        else socket.once('close', () => resolve())
      })
    },
  }
}
