/** `/admin/keys/revoke`: says what the end of a signing key ends, and ends it when the administrator still wants to. */
import { Type } from '../../src/protocol/schema.ts'
import { whatRevokingEnds, wordsOfState } from '../../src/words/key-revocation.ts'
import type { OwnArea } from './area.ts'
import { noticeOf } from './notice.ts'

export const REVOKE = '/keys/revoke'
const Text = Type.Optional(Type.String())

export function addKeyRevocation(area: OwnArea): void {
  const { serve, uri } = area
  const { keys, config } = area.kernel

  serve({
    path: `/admin${REVOKE}`,
    query: Type.Object({ kid: Text, again: Text }),
    form: Type.Object({ kid: Text }),
    async show({ kid = '', again }, call) {
      const key = keys.find(kid)
      if (key === undefined) return call.reply.redirect(uri('/keys'), 303)
      return call.reply.page('admin-key-revoke', {
        kid,
        algorithm: key.algorithm,
        state: wordsOfState(keys.stateOf(key)),
        ends: await whatRevokingEnds(keys, key, config.OIDC_KEY_PUBLISH),
        form: area.target(call, REVOKE, kid),
        cancelUri: uri('/keys'),
        notice: noticeOf({ again }),
      })
    },
    async submit({ kid = '' }, call) {
      area.assertGenuine(call, REVOKE, kid)
      const again = area.signInAgain(call, uri(REVOKE, { kid, again: 'yes' }))
      if (again !== undefined) return again
      await keys.revoke(kid)
      return call.reply.redirect(uri('/keys', { revoked: 'yes' }), 303)
    },
  })
}
