/** Fetches a request object at its address: what stands behind # is asked for anew, but not without bound. */
import type { FastifyInstance } from 'fastify'
import type { Client } from '../../src/doors/client.ts'
import { OutboundError, type OutboundRequest } from '../../src/doors/outbound.ts'
import { OAuthError } from '../../src/protocol/errors.ts'
import { currentOrigin } from '../../src/services/audit/origin.ts'
import { createBoundedCache } from '../../src/services/bounded-cache.ts'
import { TooManyUnderWay } from '../../src/services/outbound/too-many.ts'
import type { ThrottleLimits } from '../../src/services/throttle/throttle-limits.ts'

/** What was there before may be another person's request: it does not serve on while its host fails. */
const AS_IT_IS_NOW: OutboundRequest = {
  headers: { accept: 'application/oauth-authz-req+jwt, application/jwt' },
  maxAge: 0,
  staleIfError: false,
}
/** OpenID Connect Core §6.2: behind # stands which document it is. With `maxBytes`, nothing that was kept is taken for it. */
const AS_ANOTHER: OutboundRequest = { ...AS_IT_IS_NOW, maxBytes: 65_536 }
/** Milliseconds for which a failure is not tried again. */
const FAILURE = 5000
const REMEMBERED = 5000
/** Each document that is asked for counts, also one that comes: for its app, and for the network that named it. */
const LIMITS: ThrottleLimits = {
  account: { failures: 60, recovery: 2 },
  network: { failures: 120, recovery: 1 },
  everywhere: { failures: 600, recovery: 0.5 },
  ownerOf: (client) => ({ client }),
}

/** Throws `OAuthError`: `invalid_request_uri`, and 429 for who names too many. */
export type Download = (uri: string, client: Client) => Promise<string>

export function createDownload({ oauth }: FastifyInstance): Download {
  const throttle = oauth.throttle('request-object', LIMITS)
  const underWay = new Map<string, Promise<string>>()
  const failures = createBoundedCache<{ error: OAuthError; until: number }>(REMEMBERED)

  async function fetchObject(uri: string, how: OutboundRequest): Promise<string> {
    try {
      const response = await oauth.fetch(uri, how)
      if (response.status === 200) return (await response.text()).trim()
    } catch (error) {
      if (!(error instanceof OutboundError)) throw error
      throw new OAuthError('invalid_request_uri', 'the request object could not be fetched', { cause: error })
    }
    throw new OAuthError('invalid_request_uri', 'there is no request object at the request_uri')
  }

  async function fetchAnother(uri: string, { clientId }: Client): Promise<string> {
    const { address } = currentOrigin()
    if (address !== null) await (await throttle.attempt(clientId, address)).failed()
    try {
      return await fetchObject(uri, AS_ANOTHER)
    } catch (error) {
      if (error instanceof OAuthError && !(error.cause instanceof TooManyUnderWay))
        failures.set(uri, { error, until: performance.now() + FAILURE })
      throw error
    }
  }

  return async (uri, client) => {
    if (!uri.includes('#')) return fetchObject(uri, AS_IT_IS_NOW)
    const failed = failures.get(uri)
    if (failed !== undefined && performance.now() < failed.until) throw failed.error
    const started =
      underWay.get(uri) ??
      fetchAnother(uri, client).finally(() => {
        underWay.delete(uri)
      })
    underWay.set(uri, started)
    return started
  }
}
