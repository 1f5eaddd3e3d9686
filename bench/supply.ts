// Owns what a connection of the load generator sends next: complete HTTP requests, built before the window where
// that is possible, and in which order they are taken.

import type { Judgement } from './answer.ts'
import { flows } from './flow.ts'
import type { Prepare, Request } from './load-protocol.ts'

/** One connection's share of a supply. */
export interface Feed {
  /** Undefined when there is nothing left. */
  next: () => Buffer | undefined
  /** Is told every right answer. */
  answered: (answer: Record<string, unknown>) => void
  /** Where not every answer is to be the same: what the last one is. */
  judge?: (head: string, body: string) => Judgement
}

export type Supply = (connection: number) => Feed

export function createSupply(prepare: Prepare): Supply {
  if (prepare.order === 'chained') return chained(prepare)
  const [first] = prepare.requests
  if (typeof first === 'object' && 'flow' in first) return flows(prepare)
  const bytes = prepare.requests.map((request) => render(prepare, request))
  return prepare.order === 'once' ? once(bytes) : repeated(bytes)
}

function repeated(bytes: Buffer[]): Supply {
  let position = 0
  const next = () => {
    const taken = bytes[position]
    position = (position + 1) % bytes.length
    return taken
  }
  return () => ({ next, answered: () => undefined })
}

function once(bytes: Buffer[]): Supply {
  let position = 0
  return () => ({ next: () => bytes[position++], answered: () => undefined })
}

/** A connection that sends a refresh token again after an error sends the one that it has. */
function chained(prepare: Prepare): Supply {
  const forms = prepare.requests.map((request) => {
    if (request === 'get' || !('body' in request)) throw new Error('a chain is made of forms')
    return new URLSearchParams(request.body)
  })
  return (connection) => {
    const form = forms[connection]
    if (!form) throw new Error(`${forms.length} chains, and none for connection ${connection}`)
    return {
      next: () => render(prepare, { body: form.toString() }),
      answered: ({ refresh_token }) => form.set('refresh_token', String(refresh_token)),
    }
  }
}

export function render({ path, ports, closing }: Prepare, request: Request): Buffer {
  const connection = closing ? 'Connection: close\r\n' : ''
  const common = `${path} HTTP/1.1\r\nHost: 127.0.0.1:${ports[0]}\r\nAccept: application/json\r\n${connection}`
  if (request === 'get') return Buffer.from(`GET ${common}\r\n`)
  if ('flow' in request) throw new Error('a flow is no single request')
  if ('bearer' in request) return Buffer.from(`GET ${common}Authorization: Bearer ${request.bearer}\r\n\r\n`)
  const { body, dpop } = request
  const proof = dpop === undefined ? '' : `DPoP: ${dpop}\r\n`
  return Buffer.from(
    `POST ${common}${proof}Content-Type: application/x-www-form-urlencoded\r\n` +
      `Content-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`,
  )
}
