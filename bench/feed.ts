// Owns what a connection of the load generator is fed with: requests, complete in their bytes, one after the other.

import type { Judgement } from './answer.ts'
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
