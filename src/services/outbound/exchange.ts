/**
 * One request and its answer, on a connection of its own: the address is resolved once, checked, and the one that is
 * connected to. Bounded in time by the signal, and in bytes here; redirects are for `guarded-fetch.ts`.
 */
import { isIP, type LookupFunction } from 'node:net'
import { callbackify } from 'node:util'
import { OutboundError } from '../../doors/outbound.ts'
import type { Resolve } from './resolver.ts'

export interface Asked {
  readonly url: URL
  readonly method: 'GET' | 'POST'
  readonly headers: Readonly<Record<string, string>>
  readonly body: string | URLSearchParams | undefined
  /** Bytes of the answer's body, after decompression. */
  readonly maxBytes: number
}

/** The whole answer, decompressed. */
export interface Answer {
  readonly status: number
  readonly headers: Headers
  readonly body: Uint8Array<ArrayBuffer>
}

/** How addresses are found and judged. */
export interface Guard {
  readonly resolve: Resolve
  isPublic(address: string): boolean
}

/** Milliseconds, for a connection that the signal has given up. */
const CONNECT = 5000
/** What no longer holds of a body that was read. */
const OF_THE_WIRE = ['content-encoding', 'content-length', 'transfer-encoding', 'connection', 'set-cookie']

/** Without a `guard`, wherever the system says that the name leads. Throws `OutboundError`. */
export async function exchange(
  { url, method, headers, body, maxBytes }: Asked,
  guard: Guard | undefined,
  signal: AbortSignal,
): Promise<Answer> {
  const hostname = url.hostname.replace(/^\[(.*)\]$/, '$1')
  if (guard !== undefined && isIP(hostname) !== 0 && !guard.isPublic(hostname)) throw notPublic()
  // Where nothing is fetched, it is not loaded.
  const { Client, fetch } = await import('undici')
  const connect = { timeout: CONNECT, ...(guard === undefined ? {} : { lookup: lookupWith(guard) }) }
  const client = new Client(url.origin, { connect, pipelining: 0, allowH2: false, maxHeaderSize: 16_384 })
  try {
    const sent = { method, headers, body: body ?? null }
    const response = await fetch(url, { ...sent, signal, redirect: 'manual', dispatcher: client })
    // RFC 9110 §15: no status of HTTP, and a `Response` cannot have it.
    if (response.status > 599) throw new OutboundError(`it answers ${response.status}`)
    const read = await readBody(response.body, maxBytes)
    const kept = new Headers([...response.headers].filter(([name]) => !OF_THE_WIRE.includes(name)))
    return { status: response.status, headers: kept, body: read }
  } catch (error) {
    throw toOutboundError(error, signal)
  } finally {
    client.destroy().catch(() => {})
  }
}

/** For `net.connect`, which connects to what it is given and asks nobody again. */
function lookupWith({ resolve, isPublic }: Guard): LookupFunction {
  const find = callbackify(async (hostname: string) => {
    const addresses = (await resolve(hostname)).filter(isPublic)
    if (addresses.length === 0) throw notPublic()
    return addresses.map((address) => ({ address, family: isIP(address) }))
  })
  return (hostname, { all }, callback) =>
    find(hostname, (error, addresses) => {
      const [first] = addresses ?? []
      if (first === undefined) callback(error, [])
      else if (all) callback(null, addresses)
      else callback(null, first.address, first.family)
    })
}

async function readBody(
  body: AsyncIterable<Uint8Array> | null,
  maxBytes: number,
): Promise<Uint8Array<ArrayBuffer>> {
  const chunks: Uint8Array[] = []
  let size = 0
  for await (const chunk of body ?? []) {
    size += chunk.byteLength
    if (size > maxBytes) throw new OutboundError(`the answer has more than ${maxBytes} bytes`)
    chunks.push(chunk)
  }
  const whole = new Uint8Array(size)
  let at = 0
  for (const chunk of chunks) {
    whole.set(chunk, at)
    at += chunk.byteLength
  }
  return whole
}

function notPublic(): OutboundError {
  return new OutboundError('the address is not of the public internet')
}

/** `fetch` wraps what went wrong, once or twice. */
function toOutboundError(error: unknown, signal: AbortSignal): OutboundError {
  if (signal.aborted) return new OutboundError('no whole answer came in time', { cause: error })
  for (let at = error; at instanceof Error; at = at.cause) {
    if (at instanceof OutboundError) return at
    const { code } = at as NodeJS.ErrnoException
    if (code !== undefined) return new OutboundError(`no answer came (${code})`, { cause: error })
  }
  return new OutboundError('no answer came', { cause: error })
}
