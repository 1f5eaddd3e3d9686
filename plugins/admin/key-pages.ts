/** `/admin/keys`: the signing keys that are published, by algorithm, and their successors when somebody asks for one. */
import { wordsOfState } from '../../src/words/key-revocation.ts'
import type { FastifyReply } from 'fastify'
import { OAuthError } from '../../src/protocol/errors.ts'
import { message } from '../../src/protocol/message.ts'
import { Type } from '../../src/protocol/schema.ts'
import type { KeyRecord, RingKey } from '../../src/services/keys/ring-key.ts'
import { FAR_AHEAD } from '../../src/store/signing-keys.ts'
import type { PageCall } from '../pages/index.ts'
import type { Notice } from '../pages/models.ts'
import type { OwnArea } from './area.ts'
import { REVOKE } from './key-revocation.ts'
import type { KeyView } from './models.ts'
import { noticeOf, noticeOfEnd } from './notice.ts'

const ROTATE = '/keys/rotate'
const DAY = 86_400
const Text = Type.Optional(Type.String())

export function addKeyPages(area: OwnArea): void {
  const { serve, uri } = area
  const { keys, config, issuer } = area.kernel

  const viewOf = (key: KeyRecord): KeyView => ({
    kid: key.kid,
    store: key.store,
    state: keys.stateOf(key),
    stateText: wordsOfState(keys.stateOf(key)),
    createdAt: new Date(key.createdAt),
    signsFrom: new Date(key.signsFrom),
    retiresAt: key.retiresAt === null ? null : new Date(key.retiresAt),
    revokeUri: key.revokedAt === null ? uri(REVOKE, { kid: key.kid }) : null,
  })
  const newestOf = (algorithm: string): RingKey | undefined =>
    keys.keys().findLast((key) => key.algorithm === algorithm && key.retiresAt === null)

  /** One that does not sign yet needs no successor; one that would much later than any right clock has it is brought forward by a rotation. */
  const waits = (key: RingKey): boolean =>
    keys.stateOf(key) === 'next' && key.signsFrom <= Date.now() + (config.OIDC_KEY_PUBLISH + FAR_AHEAD) * 1000

  function show(call: PageCall, rotated: string, notice: Notice | null): FastifyReply {
    const algorithms = keys.algorithms.map((algorithm) => {
      const own = [...keys.keys(), ...keys.revoked()]
        .filter((key) => key.algorithm === algorithm)
        .toSorted((one, other) => one.signsFrom - other.signsFrom)
      const newest = newestOf(algorithm)
      return {
        algorithm,
        keys: own.map(viewOf).toReversed(),
        made: algorithm === rotated,
        form: { ...area.target(call, ROTATE, algorithm), newest: newest?.kid ?? '' },
        waiting: newest !== undefined && waits(newest),
      }
    })
    const { OIDC_KEY_PUBLISH: publishFor, OIDC_KEY_ROTATE: rotateAfter } = config
    return call.reply.page('admin-keys', {
      algorithms,
      publishFor,
      rotateDays: rotateAfter === 0 ? null : Math.floor(rotateAfter / DAY),
      jwksUri: `${issuer}/jwks`,
      troubles: keys.troubles(),
      notice,
    })
  }

  serve({
    path: '/admin/keys',
    query: Type.Object({ rotated: Text, revoked: Text, again: Text }),
    show: async ({ rotated = '', revoked, again }, call) =>
      show(call, rotated, noticeOf({ again }) ?? noticeOfEnd(revoked, message('The key is revoked.'))),
  })
  serve({
    path: `/admin${ROTATE}`,
    query: Type.Object({}),
    form: Type.Object({ algorithm: Type.String(), newest: Text }),
    show: async (_query, { reply }) => reply.redirect(uri('/keys'), 303),
    async submit({ algorithm, newest = '' }, call) {
      area.assertGenuine(call, ROTATE, algorithm)
      if (!keys.algorithms.includes(algorithm))
        throw new OAuthError('invalid_request', 'this is not an algorithm of ours')
      const again = area.signInAgain(call, uri('/keys', { again: 'yes' }))
      if (again !== undefined) return again
      // A form that was sent twice, or opened before somebody else's was sent, makes no second successor.
      await keys.succeed(algorithm, newest)
      return call.reply.redirect(uri('/keys', { rotated: algorithm }), 303)
    },
  })
}
