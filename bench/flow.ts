// Owns how a connection of the load generator goes through sign-ins (`Flow`), one after the other: which of the three requests
// comes next, and what the last one must have been answered with.

import { judge, type Judgement } from './answer.ts'
import { render, type Feed, type Supply } from './feed.ts'
import type { Flow, Prepare, Request } from './load-protocol.ts'

export function flows(prepare: Prepare): Supply {
  const all = prepare.requests.map(flowOf)
  let position = 0
  return () => throughOneByOne(prepare, () => all[position++])
}

function flowOf(request: Request): Flow {
  if (typeof request === 'string' || !('flow' in request)) throw new Error('these are flows, all of them')
  return request.flow
}

function throughOneByOne(prepare: Prepare, take: () => Flow | undefined): Feed {
  let flow: Flow | undefined
  /** What the request that is sent next carries: nothing, a reference, or a code. */
  let reference: string | undefined
  let code: string | undefined

  const post = (path: string, body: string, dpop?: string): Buffer =>
    render({ ...prepare, path }, dpop === undefined ? { body } : { body, dpop })

  return {
    next() {
      if (flow !== undefined && code !== undefined)
        return post(flow.exchange.path, `${flow.exchange.body}&code=${code}`, flow.exchange.dpop)
      if (flow !== undefined && reference !== undefined) return bring(prepare, flow, reference)
      flow = take()
      return flow && post(flow.push.path, flow.push.body)
    },
    judge(head, body) {
      const judgement = judged(head, body)
      // A sign-in that went wrong is not gone on with.
      if (judgement.error !== undefined) [flow, reference, code] = [undefined, undefined, undefined]
      return judgement
    },
    answered(answer) {
      if (code !== undefined) [flow, reference, code] = [undefined, undefined, undefined]
      else if (reference === undefined) reference = String(answer['request_uri'])
      else code = String(answer['code'])
    },
  }

  function judged(head: string, body: string): Judgement {
    if (code !== undefined) return judge(head, body, prepare.expectation)
    if (reference !== undefined) return codeIn(head)
    return judge(head.replace('HTTP/1.1 201 ', 'HTTP/1.1 200 '), body, { tokens: ['request_uri'] })
  }
}

function bring({ ports, closing }: Prepare, { authorize }: Flow, reference: string): Buffer {
  const query = new URLSearchParams({ client_id: authorize.clientId, request_uri: reference })
  const connection = closing ? 'Connection: close\r\n' : ''
  return Buffer.from(
    `GET ${authorize.path}?${query.toString()} HTTP/1.1\r\nHost: 127.0.0.1:${ports[0]}\r\n` +
      `Accept: text/html\r\nCookie: ${authorize.cookie}\r\n${connection}\r\n`,
  )
}

function codeIn(head: string): Judgement {
  const [, location = ''] = /\r\nlocation: *(\S+)/i.exec(head) ?? []
  const code = /^HTTP\/1[.]1 30[23] /.test(head) ? URL.parse(location)?.searchParams.get('code') : null
  return code == null ? { error: `no code: ${head.slice(0, 300)}` } : { answer: { code } }
}
