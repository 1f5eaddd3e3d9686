/** Fetches a request object at its address, of which anybody may name any part behind #: the app's host is not asked as often as they ask us. */
import type { FastifyInstance } from 'fastify'
import { OutboundError, type OutboundRequest } from '../../src/doors/outbound.ts'
import { OAuthError } from '../../src/protocol/errors.ts'
import { createBoundedCache } from '../../src/services/bounded-cache.ts'
import { TooManyUnderWay } from '../../src/services/outbound/too-many.ts'
import { createFreshReads } from './fresh-reads.ts'

/** What was there before may be another person's request: it does not serve on while its host fails. */
const AS_IT_IS_NOW: OutboundRequest = {
  headers: { accept: 'application/oauth-authz-req+jwt, application/jwt' },
  maxAge: 0,
  staleIfError: false,
  byAnybody: true,
}
/** OpenID Connect Core §6.2: behind # stands which document it is. With `maxBytes`, nothing that was kept is taken for it. */
const AS_ANOTHER: OutboundRequest = { ...AS_IT_IS_NOW, maxBytes: 65_536 }
/** Milliseconds for which a failure is not tried again. */
const FAILURE = 5000
const REMEMBERED = 5000

/** Throws `OAuthError`: `invalid_request_uri`, and `temporarily_unavailable` where too much is asked of others. */
export function createDownload({ oauth }: FastifyInstance): (uri: string) => Promise<string> {
  const failures = createBoundedCache<OAuthError>(REMEMBERED, { ttl: FAILURE })

  async function fetchObject(uri: string, how: OutboundRequest): Promise<string> {
    try {
      const response = await oauth.fetch(uri, how)
      if (response.status === 200) return (await response.text()).trim()
    } catch (error) {
      if (!(error instanceof OutboundError) || error instanceof TooManyUnderWay) throw error
      throw new OAuthError('invalid_request_uri', 'the request object could not be fetched', { cause: error })
    }
    throw new OAuthError('invalid_request_uri', 'there is no request object at the request_uri')
  }

  // What stands behind # does not reach the host: whatever it is, one answer is that of all.
  const another = createFreshReads(async (uri) => {
    try {
      return await fetchObject(uri, AS_ANOTHER)
    } catch (error) {
      if (error instanceof OAuthError && !(error instanceof TooManyUnderWay)) failures.set(uri, error)
      throw error
    }
  })

  return async (uri) => {
    const [address = uri, part] = uri.split('#', 2)
    if (part === undefined) return fetchObject(uri, AS_IT_IS_NOW)
    const failure = failures.get(address)
    if (failure !== undefined) throw failure
    try {
      return await another(address)
    } catch (error) {
      // It was asked in the name of whoever came first: that one's network had no place left, and this one's may have.
      if (error instanceof TooManyUnderWay) return fetchObject(address, AS_ANOTHER)
      throw error
    }
  }
}
