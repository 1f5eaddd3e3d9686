// Fetches one JSON document from an issuer: no redirects, a limit on size and on time, nothing of the answer in the error.

const MAX_BYTES = 256 * 1024

export interface FetchOptions {
  /** Milliseconds for the whole exchange. */
  readonly timeout: number
  /** Ends the exchange early, when the app closes. */
  readonly signal: AbortSignal
}

export interface FetchedJson {
  readonly document: unknown
  /** `max-age` in seconds, when the answer has one (RFC 9111 §5.2.2.1); 0 when it must not be stored. */
  readonly maxAge: number | undefined
  /** Seconds that the answer has spent in a cache on its way (RFC 9111 §5.1). */
  readonly age: number
}

/** The server answered, but not with the document. */
export class UnusableAnswer extends Error {
  override readonly name = 'UnusableAnswer'
}

/** @throws {UnusableAnswer} for anything but 200 and JSON; an error of undici or an abort when no answer came */
export async function fetchJson(url: URL, { timeout, signal }: FetchOptions): Promise<FetchedJson> {
  // Where nothing is fetched, as in the server itself, it is not loaded.
  const { request } = await import('undici')
  const response = await request(url, {
    // A cache on the way must not hide a key that has just been published.
    headers: { accept: 'application/json', 'cache-control': 'no-cache' },
    signal: AbortSignal.any([signal, AbortSignal.timeout(timeout)]),
  })
  if (response.statusCode !== 200) {
    await response.body.dump()
    throw new UnusableAnswer(`${url.href} answered ${response.statusCode}`)
  }
  const text = await readText(url, response.body)
  const cacheControl = String(response.headers['cache-control'] ?? '')
  try {
    const document: unknown = JSON.parse(text)
    return { document, maxAge: readMaxAge(cacheControl), age: Number(response.headers['age'] ?? 0) || 0 }
  } catch {
    throw new UnusableAnswer(`${url.href} answered something that is not JSON`)
  }
}

async function readText(url: URL, body: AsyncIterable<Uint8Array>): Promise<string> {
  const chunks: Uint8Array[] = []
  let size = 0
  for await (const chunk of body) {
    size += chunk.byteLength
    if (size > MAX_BYTES) throw new UnusableAnswer(`${url.href} answered more than ${MAX_BYTES} bytes`)
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString('utf8')
}

function readMaxAge(cacheControl: string): number | undefined {
  if (/\bno-(?:store|cache)\b/i.test(cacheControl)) return 0
  const seconds = /\bmax-age="?(\d{1,9})/i.exec(cacheControl)?.[1]
  return seconds === undefined ? undefined : Number(seconds)
}
