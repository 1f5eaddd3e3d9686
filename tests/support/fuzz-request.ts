/** A request of a fuzz run: the parts that mutations change, and how it is sent. What is wrong with it stands in `fuzz-mutations`. */
import { Agent, request, type IncomingHttpHeaders } from 'node:http'

/** As on the wire: percent-encoded, well or not. */
export type Pair = [name: string, value: string]

export interface Draft {
  method: string
  path: string
  query: Pair[]
  fields: Pair[]
  cookies: Pair[]
  headers: Record<string, string>
  /** In place of the fields. */
  body?: Buffer
}

export interface Answer {
  /** 0 where the connection was closed before all was sent. */
  status: number
  headers: IncomingHttpHeaders
  body: string
}

const FORM = 'application/x-www-form-urlencoded'
/** To tell a hang from a slow answer. */
const PATIENCE = 10_000
/** What a server may refuse by hanging up: more than it reads. */
const LARGE = 15_000
const agent = new Agent({ keepAlive: true, maxSockets: 32 })

export const encoded = (pairs: Iterable<readonly [string, string]>): Pair[] =>
  [...pairs].map(([name, value]) => [encodeURIComponent(name), encodeURIComponent(value)])

/** What of a browser's or a client's request is the same everywhere. */
export function draft(given: Partial<Draft> & Pick<Draft, 'path'>): Draft {
  const { method = 'GET', headers = {}, ...more } = given
  const typed = method === 'POST' ? { 'content-type': FORM } : {}
  return { query: [], fields: [], cookies: [], ...more, method, headers: { ...typed, ...headers } }
}

const joined = (pairs: readonly Pair[]): string => pairs.map((pair) => pair.join('=')).join('&')

/** A copy that may be changed. */
export function copyOf({ query, fields, cookies, headers, ...more }: Draft): Draft {
  return { ...more, query: [...query], fields: [...fields], cookies: [...cookies], headers: { ...headers } }
}

/** What it is on the wire; a client library of ours sends neither spaces in an address nor line ends in a header. */
export function rendered({ method, path, query, fields, cookies, headers, body }: Draft) {
  const search = query.length === 0 ? '' : `?${joined(query)}`
  const cookie = cookies.map((pair) => pair.join('=')).join('; ')
  const given = Object.entries({ ...headers, ...(cookie === '' ? {} : { cookie }) })
  return {
    method,
    path: `/${path.replace(/^\//, '')}${search}`.replaceAll(/[^\x21-\xff]/g, '%20'),
    headers: Object.fromEntries(
      given.map(([name, value]) => [name, value.replaceAll(/[^\t\x20-\x7e\x80-\xff]/g, '')]),
    ),
    body: body ?? (fields.length === 0 ? undefined : Buffer.from(joined(fields))),
  }
}

/** Rejects where no answer comes in time, and where the connection breaks without a reason in the request. */
export async function send(origin: string, given: Draft): Promise<Answer> {
  const { body, ...options } = rendered(given)
  const { method } = options
  const { hostname, port } = new URL(origin)
  const { promise, resolve, reject } = Promise.withResolvers<Answer>()
  const signal = AbortSignal.timeout(PATIENCE)
  const sending = request({ hostname, port, agent, signal, ...options }, (response) => {
    const chunks: Buffer[] = []
    response.on('data', (chunk: Buffer) => chunks.push(chunk))
    response.on('error', reject)
    response.on('end', () => {
      const { statusCode: status = 0, headers } = response
      resolve({ status, headers, body: Buffer.concat(chunks).toString() })
    })
  })
  sending.on('error', (error: NodeJS.ErrnoException) => {
    const cut = error.code === 'ECONNRESET' || error.code === 'EPIPE'
    if (cut && JSON.stringify(options).length + (body?.length ?? 0) > LARGE)
      resolve({ status: 0, headers: {}, body: '' })
    // What the parser refuses has a body, also where HEAD was asked: the connection ends with it.
    else if (method === 'HEAD' && error.code === 'HPE_CLOSED_CONNECTION')
      resolve({ status: 400, headers: {}, body: '' })
    // The server closed an idle connection as we took it.
    else if (cut && sending.reusedSocket) resolve(send(origin, given))
    else
      reject(
        new Error(`no answer: ${JSON.stringify(options).slice(0, 2000)} ${body?.toString().slice(0, 1000)}`, {
          cause: error,
        }),
      )
  })
  sending.end(body)
  return promise
}
