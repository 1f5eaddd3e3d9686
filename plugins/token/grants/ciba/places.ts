/**
 * How many requests of a client wait for one person: each takes one of a few places, and the answer frees it. So nobody's mail is flooded, whatever
 * many processes ask at once.
 */
import type { FastifyInstance } from 'fastify'
import { kernelOf } from '../../../../src/http/kernel-of.ts'
import { OAuthError } from '../../../../src/protocol/errors.ts'
import { statements } from '../../../../src/store/artifacts.ts'
import type { Query } from '../../../../src/store/statement.ts'

/** Whose a place is: of the client, at the person whom it asks. */
export interface PlaceOf {
  readonly user: string
  readonly client: string
}

export interface Places {
  /** For the request of this `id`, in the transaction of `query`, which stores it. Throws 429 where all are taken. */
  take(query: Query, of: PlaceOf, id: string): Promise<number>
  /** Nothing where it is another's by now. */
  free(of: PlaceOf, place: number, id: string): Promise<void>
}

const KIND = 'ciba-place'
/** What a client may have asked one person without an answer, in so many seconds. */
const UNANSWERED = { most: 5, within: 900 }

export function createPlaces(fastify: FastifyInstance): Places {
  const { box } = kernelOf(fastify)
  const places = fastify.oauth.artifacts<{ id: string }>(KIND, { lifetime: UNANSWERED.within })
  const handleOf = ({ user, client }: PlaceOf, place: number): string => `${user} ${place} ${client}`

  return {
    async take(query, of, id) {
      for (let place = 0; place < UNANSWERED.most; place++) {
        const values = [box.hash(handleOf(of, place)), KIND, { id }, UNANSWERED.within]
        if ((await query(statements.put, values)).length > 0) return place
      }
      throw new OAuthError('access_denied', 'too many requests to this person wait for an answer', {
        status: 429,
        retryAfter: 60,
      })
    },
    async free(of, place, id) {
      const handle = handleOf(of, place)
      if ((await places.get(handle))?.id === id) await places.delete(handle)
    },
  }
}
