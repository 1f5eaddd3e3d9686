/** Reads a metadata document at its address: once for all who wait, so many of a host and for a network, and bounded in every way. */
import type { FastifyInstance } from 'fastify'
import { OutboundError } from '../../src/doors/outbound.ts'
import type { Bag } from '../../src/protocol/bag.ts'
import { OAuthError } from '../../src/protocol/errors.ts'
import { parseJsonObject } from '../../src/protocol/strict-json.ts'
import { currentOrigin } from '../../src/services/audit/origin.ts'
import { createBoundedCache } from '../../src/services/bounded-cache.ts'
import { TooManyUnderWay } from '../../src/services/outbound/too-many.ts'
import type { ThrottleLimits } from '../../src/services/throttle/throttle-limits.ts'

const ACCEPT = { accept: 'application/json' }
/** Bytes (§6.6). */
const MOST_BYTES = 5120
/** Milliseconds for which a failure is not tried again. */
const FAILURE = 5000
const REMEMBERED = 5000
/** Each document that is asked for counts, also one that comes: for its host, and for the network that named it. */
const LIMITS: ThrottleLimits = {
  account: { failures: 60, recovery: 2 },
  network: { failures: 120, recovery: 1 },
  everywhere: { failures: 600, recovery: 0.5 },
}

export interface ReadDocument {
  readonly document: Bag
  readonly headers: Headers
}

/** It did not come, which may be over in a moment; else it came, and is none. */
export class DocumentAway extends OAuthError {
  readonly passing: boolean

  constructor(reason: string, { passing = false, cause }: { passing?: boolean; cause?: unknown } = {}) {
    super('invalid_client', `the metadata document of the app ${reason}`, { status: 400, cause })
    this.passing = passing
  }
}

/** Throws `DocumentAway`, and `OAuthError` for who names too many (429), and where too much is asked of others (503). */
export type ReadClientDocument = (url: URL) => Promise<ReadDocument>

export function createReadClientDocument({ oauth }: FastifyInstance): ReadClientDocument {
  const throttle = oauth.throttle('client-document', LIMITS)
  const underWay = new Map<string, Promise<ReadDocument>>()
  const failures = createBoundedCache<{ error: DocumentAway; until: number }>(REMEMBERED)

  async function read(url: URL): Promise<ReadDocument> {
    const { address } = currentOrigin()
    if (address !== null) await (await throttle.attempt(url.host, address)).failed()
    try {
      const response = await fetchDocument(url)
      if (response.status !== 200)
        throw new DocumentAway(`is not there: its address answers ${response.status}`, {
          passing: response.status >= 500,
        })
      const { headers } = response
      if (!/^application\/(?:[\w.+-]+\+)?json(?:\s*;|\s*$)/i.test(headers.get('content-type') ?? ''))
        throw new DocumentAway('must be application/json')
      return { document: parse(await response.bytes()), headers }
    } catch (error) {
      if (error instanceof DocumentAway) failures.set(url.href, { error, until: performance.now() + FAILURE })
      throw error
    }
  }

  async function fetchDocument(url: URL): Promise<Response> {
    try {
      return await oauth.fetch(url, { headers: ACCEPT, maxBytes: MOST_BYTES, byAnybody: true })
    } catch (error) {
      if (!(error instanceof OutboundError) || error instanceof TooManyUnderWay) throw error
      // What our network looks like is nobody's to know.
      throw new DocumentAway('cannot be read', { passing: true, cause: error })
    }
  }

  /** Of what was asked in the name of whoever came first: where that one's network had no place left, this one's may have. */
  async function askInTurn(url: URL, error: unknown): Promise<ReadDocument> {
    if (error instanceof TooManyUnderWay) return read(url)
    throw error
  }

  return async (url) => {
    const failed = failures.get(url.href)
    if (failed !== undefined && performance.now() < failed.until) throw failed.error
    const others = underWay.get(url.href)
    if (others !== undefined) return others.catch(async (error: unknown) => askInTurn(url, error))
    const started = read(url).finally(() => {
      underWay.delete(url.href)
    })
    underWay.set(url.href, started)
    return started
  }
}

function parse(bytes: Uint8Array): Bag {
  try {
    return parseJsonObject(bytes)
  } catch (error) {
    if (!(error instanceof OAuthError)) throw error
    throw new DocumentAway(error.message.replace(/^the body /, ''), { cause: error })
  }
}
