// Owns one keep-alive connection of the load generator: prebuilt bytes out, the smallest HTTP/1.1 parser that
// can tell a right answer from a wrong one in. A general client would cost more than the servers it measures.

import { connect, type Socket } from 'node:net'
import type { Expectation } from './load-protocol.ts'

export interface Traffic {
  port: number
  next: () => Buffer
  expectation: Expectation
  /** Called for each response; an `error` is what was wrong with it. */
  onResponse: (error?: string) => void
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

  const send = () => {
    if (closing) socket.end()
    else socket.write(traffic.next())
  }
  const fail = (error: string) => {
    if (!closing) traffic.onResponse(error)
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
    traffic.onResponse(problemWith(head, received.toString('utf8', bodyStart, bodyEnd), traffic.expectation))
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

function problemWith(head: string, body: string, expectation: Expectation): string | undefined {
  if (!head.startsWith('HTTP/1.1 200 ')) return `${head.slice(9, 12)} ${body.slice(0, 300)}`
  return isGood(body, expectation) ? undefined : `200 without ${expectation}: ${body.slice(0, 300)}`
}

function isGood(body: string, expectation: Expectation): boolean {
  try {
    const answer = JSON.parse(body) as Record<string, unknown>
    if (expectation === 'active') return answer['active'] === true
    return typeof answer['access_token'] === 'string' && answer['access_token'].length >= 20
  } catch {
    return false
  }
}
