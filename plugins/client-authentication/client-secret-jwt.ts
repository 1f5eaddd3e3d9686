/**
 * client_secret_jwt (OpenID Connect Core §9): a client proves who it is by a JWT that its secret keys, which stays where it
 * is. For that the server must have the secret itself: it is stored sealed, of clients with this method alone.
 */
import { createSecretKey, randomBytes } from 'node:crypto'
import type { FastifyInstance } from 'fastify'
import fp from 'fastify-plugin'
import { kernelOf } from '../../src/http/kernel-of.ts'
import { HMAC_ALGORITHMS, hmacKeyBytes } from '../../src/protocol/hmac.ts'
import { assertClaims, decodeSignedJwt, isSignedBy, JwtError } from '../../src/protocol/signed-jwt.ts'
import { SEALED_METHOD } from '../../src/services/clients/client-secrets.ts'
import { createAssertionMethod, type AssertionMethod } from './client-assertions.ts'

/** In the place of a secret that is not there, so that a refusal takes the same time. */
const NOBODYS = createSecretKey(randomBytes(64))

async function clientSecretJwt(fastify: FastifyInstance): Promise<void> {
  const { findSealedSecrets } = kernelOf(fastify)

  const verify: AssertionMethod['verify'] = async (
    client,
    jwt,
    { algorithms = HMAC_ALGORITHMS, issuer = client?.clientId ?? '', ...expected },
  ) => {
    const unverified = decodeSignedJwt(jwt)
    if (!algorithms.includes(unverified.alg)) throw new JwtError('its alg is not taken')
    assertClaims(unverified, { ...expected, issuer, now: Date.now() })
    const secrets = findSealedSecrets(client)
    const fewest = hmacKeyBytes(unverified.alg)
    const keys = secrets.filter(({ symmetricKeySize = 0 }) => symmetricKeySize >= fewest)
    const isGood =
      (await isSignedBy(jwt, unverified, keys.length === 0 ? [NOBODYS] : keys)) && keys.length > 0
    if (isGood) return unverified.claims
    if (secrets.length === 0) throw new JwtError('the client has no such secret')
    throw new JwtError(
      keys.length === 0 ? 'the secret is too short for its alg' : 'its signature is not good',
    )
  }

  fastify.oauth.register(
    'clientAuthentication',
    SEALED_METHOD,
    createAssertionMethod(fastify, { method: SEALED_METHOD, algorithms: HMAC_ALGORITHMS, verify }),
  )
}

export default fp(clientSecretJwt, { name: 'latchkey-client-secret-jwt', dependencies: ['latchkey-oauth'] })
