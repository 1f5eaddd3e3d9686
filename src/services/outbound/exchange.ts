/**
 * One request and its answer, on a connection of its own: the address is resolved once, checked, and the one that is
 * connected to; or a proxy does all that. Bounded in time by the signal, and in bytes here; redirects are for `guarded-fetch.ts`.
 */
import { isIP, type LookupFunction } from 'node:net'
import { callbackify } from 'node:util'
import type { Dispatcher } from 'undici'
import { OutboundError } from '../../doors/outbound.ts'
import { isPublicName } from '../../protocol/public-address.ts'
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

/** How it is reached: wherever the system says that a name leads, unless there is a guard, or a proxy that is told the name (RFC 9110 §9.3.6). */
export interface Way {
  readonly guard?: Guard | undefined
  /** `http:` or `https:`, with its credentials. */
  readonly proxy?: URL | undefined
}

/** Milliseconds, for a connection that the signal has given up. */
const CONNECT = 5000
/** What `undici` says where a proxy does not connect us. */
const OF_THE_PROXY = /^Proxy response \((\d{3})\)/
/** What no longer holds of a body that was read. */
const OF_THE_WIRE = ['content-encoding', 'content-length', 'transfer-encoding', 'connection', 'set-cookie']

/** Throws `OutboundError`. */
export async function exchange(
  { url, method, headers, body, maxBytes }: Asked,
  way: Way,
  signal: AbortSignal,
): Promise<Answer> {
  assertNamed(url.hostname.replace(/^\[(.*)\]$/, '$1'), way)
  // Where nothing is fetched, it is not loaded.
  const { fetch } = await import('undici')
  const dispatcher = await dispatcherOf(url, way)
  try {
    const sent = { method, headers, body: body ?? null }
    const response = await fetch(url, { ...sent, signal, redirect: 'manual', dispatcher })
    // RFC 9110 §15: no status of HTTP, and a `Response` cannot have it.
    if (response.status > 599) throw new OutboundError(`it answers ${response.status}`)
    const read = await readBody(response.body, maxBytes)
    const kept = new Headers([...response.headers].filter(([name]) => !OF_THE_WIRE.includes(name)))
    return { status: response.status, headers: kept, body: read }
  } catch (error) {
    throw toOutboundError(error, signal)
  } finally {
    dispatcher.destroy().catch(() => {})
  }
}

/** What the name says by itself; where a name leads, a proxy alone knows. */
function assertNamed(hostname: string, { guard, proxy }: Way): void {
  if (guard === undefined) return
  if (isIP(hostname) === 0 ? proxy !== undefined && !isPublicName(hostname) : !guard.isPublic(hostname))
    throw notPublic()
}

async function dispatcherOf({ origin }: URL, { guard, proxy }: Way): Promise<Dispatcher> {
  const { Client, ProxyAgent } = await import('undici')
  const bounds = { pipelining: 0, allowH2: false, maxHeaderSize: 16_384 }
  if (proxy !== undefined)
    return new ProxyAgent({ ...bounds, uri: proxy.href, connections: 1, connectTimeout: CONNECT })
  const connect = { timeout: CONNECT, ...(guard === undefined ? {} : { lookup: lookupWith(guard) }) }
  return new Client(origin, { ...bounds, connect })
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
    const refused = OF_THE_PROXY.exec(at.message)?.[1]
    if (refused !== undefined) return new OutboundError(`the proxy answers ${refused}`, { cause: error })
    // An exception of the DOM has a number.
    const { code } = at as { code?: unknown }
    if (typeof code === 'string') return new OutboundError(`no answer came (${code})`, { cause: error })
  }
  return new OutboundError('no answer came', { cause: error })
}
