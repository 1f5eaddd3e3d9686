/**
 * OpenID Connect Front-Channel Logout 1.0: the page on which somebody signs out loads an address of each app that the session has signed in
 * to, in a frame, where the app's own cookies are.
 */
import type { FastifyInstance } from 'fastify'
import fp from 'fastify-plugin'
import { metadataError } from '../../src/protocol/errors.ts'
import type { Bag } from '../../src/protocol/bag.ts'
import { withQuery } from '../../src/protocol/redirect-uri.ts'
import { Type } from '../../src/protocol/schema.ts'

const MEMBER = 'frontchannel_logout_uri'

async function frontChannelLogout({ oauth }: FastifyInstance): Promise<void> {
  const { issuer } = oauth
  oauth.extend('metadata', async () => ({
    frontchannel_logout_supported: true,
    frontchannel_logout_session_supported: true,
  }))

  oauth.extendClientMetadata(Type.Object({}), (metadata) => {
    const problem = problemOf(metadata)
    if (problem !== undefined) throw metadataError(MEMBER, problem)
  })

  oauth.add('signOutNotice', {
    name: 'frontchannel-logout',
    tell({ metadata }, { sid }) {
      const { [MEMBER]: uri } = metadata
      // What was registered before anybody looked at it is looked at here.
      if (typeof uri !== 'string' || problemOf(metadata) !== undefined) return null
      // §3: both or none, and they do no harm to who does not require them.
      return { frame: withQuery(uri, { iss: issuer, sid }) }
    },
  })
}

/** §2: http is for confidential clients, and the address is at the origin of a redirect URI. */
function problemOf({
  [MEMBER]: uri,
  token_endpoint_auth_method: method,
  redirect_uris: redirectUris = [],
}: Bag): string | undefined {
  if (typeof uri !== 'string') return undefined
  const url = URL.parse(uri)
  if (url?.protocol !== 'https:' && method === 'none')
    return 'must use https, unless the client is confidential'
  const isAtHome =
    url !== null && (redirectUris as readonly string[]).some((one) => URL.parse(one)?.origin === url?.origin)
  return isAtHome ? undefined : 'must have the scheme, host and port of a redirect URI'
}

export default fp(frontChannelLogout, {
  name: 'latchkey-frontchannel-logout',
  dependencies: ['latchkey-oauth', 'latchkey-openid', 'latchkey-end-session'],
})
