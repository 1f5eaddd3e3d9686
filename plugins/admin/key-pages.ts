/** `/admin/keys`: the signing keys that are published, by algorithm, and their successors when somebody asks for one. */
import type { FastifyReply } from 'fastify'
import { Type } from 'typebox'
import { OAuthError } from '../../src/protocol/errors.ts'
import type { RingKey } from '../../src/services/keys/ring-key.ts'
import type { PageCall } from '../pages/index.ts'
import type { Desk } from './desk.ts'
import type { KeyView } from './models.ts'

const ROTATE = '/keys/rotate'
const DAY = 86_400

export function addKeyPages(desk: Desk): void {
  const { oauth, serve, uri } = desk
  const { keys, config } = oauth

  const viewOf = (key: RingKey): KeyView => ({
    kid: key.kid,
    state: keys.stateOf(key),
    createdAt: new Date(key.createdAt),
    signsFrom: new Date(key.signsFrom),
    retiresAt: key.retiresAt === null ? null : new Date(key.retiresAt),
  })
  const newestOf = (algorithm: string): RingKey | undefined =>
    keys.keys().findLast((key) => key.algorithm === algorithm && key.retiresAt === null)

  function show(call: PageCall, rotated: string): FastifyReply {
    const algorithms = keys.algorithms.map((algorithm) => {
      const own = keys.keys().filter((key) => key.algorithm === algorithm)
      const newest = newestOf(algorithm)
      return {
        algorithm,
        keys: own.map(viewOf).toReversed(),
        made: algorithm === rotated,
        form: { ...desk.target(call, ROTATE, algorithm), newest: newest?.kid ?? '' },
        // One that does not sign yet needs no successor.
        waiting: newest !== undefined && keys.stateOf(newest) === 'next',
      }
    })
    const { OIDC_KEY_PUBLISH: publishFor, OIDC_KEY_ROTATE: rotateAfter } = config
    return call.reply.page('admin-keys', {
      algorithms,
      publishFor,
      rotateDays: rotateAfter === 0 ? null : Math.floor(rotateAfter / DAY),
      jwksUri: `${oauth.issuer}/jwks`,
    })
  }

  serve({
    path: '/admin/keys',
    query: Type.Object({ rotated: Type.Optional(Type.String()) }),
    show: async ({ rotated = '' }, call) => show(call, rotated),
  })
  serve({
    path: `/admin${ROTATE}`,
    query: Type.Object({}),
    form: Type.Object({ algorithm: Type.String(), newest: Type.Optional(Type.String()) }),
    show: async (_query, { reply }) => reply.redirect(uri('/keys'), 303),
    async submit({ algorithm, newest = '' }, call) {
      desk.assertGenuine(call, ROTATE, algorithm)
      if (!keys.algorithms.includes(algorithm))
        throw new OAuthError('invalid_request', 'this is not an algorithm of ours')
      // A form that was sent twice, or opened before somebody else's was sent, makes no second successor.
      if ((newestOf(algorithm)?.kid ?? '') === newest) await keys.rotate(algorithm)
      return call.reply.redirect(uri('/keys', { rotated: algorithm }), 303)
    },
  })
}
