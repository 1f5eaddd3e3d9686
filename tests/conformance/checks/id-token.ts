/** How ID tokens are signed. */
import { createRemoteJWKSet, decodeProtectedHeader, jwtVerify } from 'jose'
import { expect } from 'vitest'
import type { Checks } from '../plan.ts'
import { authenticate, authenticationRequest, callbackIn, presentCode, visit } from '../relying-party.ts'
import { CALLBACK, type Suite } from '../suite.ts'

/** The ID token that a client gets which registered an algorithm of its own. */
async function idTokenSignedBy(suite: Suite, algorithm: string): Promise<string> {
  const { clients } = suite.server.server.oauth
  const registered = await clients.create({
    redirect_uris: [CALLBACK],
    response_types: [suite.responseType],
    id_token_signed_response_alg: algorithm,
  })
  const client = { client_id: registered.client_id!, client_secret: registered.client_secret! }
  const request = authenticationRequest(suite, {}, client)
  const callback = callbackIn(suite, await visit(suite, request), request)
  if (!callback.has('code')) return callback.get('id_token')!
  const response = await presentCode(suite, callback, { client })
  return ((await response.json()) as { id_token: string }).id_token
}

const keysOf = ({ metadata }: Suite) => createRemoteJWKSet(new URL(metadata.jwks_uri!))

export const idToken = {
  'oidcc-idtoken-signature': async (suite) => {
    const { tokens, claims } = await authenticate(suite)
    const { protectedHeader } = await jwtVerify(tokens.id_token, keysOf(suite), {
      issuer: suite.metadata.issuer,
      audience: claims.aud as string,
      algorithms: ['RS256'],
      requiredClaims: ['sub', 'exp', 'iat', 'nonce', ...(tokens.access_token ? ['at_hash'] : [])],
    })
    expect(protectedHeader).toMatchObject({ alg: 'RS256', kid: expect.any(String) })
    for (const algorithm of ['ES256', 'PS256', 'EdDSA']) {
      const signed = await idTokenSignedBy(suite, algorithm)
      const { protectedHeader: header } = await jwtVerify(signed, keysOf(suite))
      expect(header).toMatchObject({ alg: algorithm, kid: expect.any(String) })
    }
  },

  'oidcc-idtoken-unsigned': async (suite) => {
    expect(suite.metadata['id_token_signing_alg_values_supported']).not.toContain('none')
    const { clients } = suite.server.server.oauth
    const registration = clients.create({ redirect_uris: [CALLBACK], id_token_signed_response_alg: 'none' })
    await expect(registration).rejects.toMatchObject({ code: 'invalid_client_metadata' })
    const { tokens } = await authenticate(suite)
    expect(decodeProtectedHeader(tokens.id_token).alg).toBe('RS256')
    expect(tokens.id_token.split('.')[2]).not.toBe('')
  },
} satisfies Checks
