/**
 * The authorization_code grant (RFC 6749 §4.1.3, RFC 7636 §4.6): judges everything that the code is bound to. The
 * issuer spends it, last: only whoever proves all the rest can use it up, or show that it is used twice.
 */
import type { FastifyInstance } from 'fastify'
import fp from 'fastify-plugin'
import { hash, timingSafeEqual } from 'node:crypto'
import { OAuthError } from '../../../src/protocol/errors.ts'
import { Repeatable } from '../../../src/protocol/parameters.ts'
import { Type } from '../../../src/protocol/schema.ts'
import { leavesOutRedirectUri, type FoundCode } from '../../../src/services/tokens/authorization-codes.ts'
import { kernelOf } from '../../../src/http/kernel-of.ts'
import { isOfClient } from '../../../src/services/clients/same-client.ts'
import { narrowed } from './narrowed.ts'

const Parameters = Type.Object({
  code: Type.String(),
  redirect_uri: Type.Optional(Type.String()),
  code_verifier: Type.Optional(Type.String()),
  resource: Type.Optional(Repeatable()),
})

/** RFC 7636 §4.1, in characters; what is longer than 128 is refused as any parameter that is too long. */
const SHORTEST_VERIFIER = 43

async function authorizationCode(fastify: FastifyInstance): Promise<void> {
  const { oauth } = fastify
  const { authorizationCodes: codes } = kernelOf(fastify)
  oauth.registerGrant({
    type: 'authorization_code',
    publicClients: true,
    parameters: Parameters,
    async authorize({ code, redirect_uri, code_verifier, resource }, { client }) {
      const codeChallenge = challengeOf(code_verifier)
      const binding = { clientId: client.clientId, redirectUri: redirect_uri ?? null, codeChallenge }
      const found = (await codes.find(code)) ?? (await codes.findOwedOrEnd(code, binding))
      if (found === null || !isOfClient(found.clientId, found.createdAt, client))
        throw invalidGrant('the code is not known')
      // Who may leave it out now, and might when the code was made: only then a second use without it is known again.
      const isOptional = found.mayComeWithoutRedirectUri && leavesOutRedirectUri(client, codeChallenge)
      if (redirect_uri === undefined ? !isOptional : redirect_uri !== found.redirectUri)
        throw invalidGrant('redirect_uri is not the one of the authorization request')
      assertVerified(found, code_verifier)
      return narrowed(found.granted, resource)
    },
  })
}

/**
 * A verifier without a challenge is refused as well as the reverse: either is a downgrade (RFC 9700 §2.1.1). Of a verifier,
 * its length and its hash count. The characters of RFC 7636 §4.1 protect nothing, and git-credential-oauth sends others.
 */
function assertVerified({ codeChallenge }: FoundCode, verifier: string | undefined): void {
  if (codeChallenge === null && verifier === undefined) return
  if (codeChallenge === null) throw invalidGrant('code_verifier without a code_challenge')
  if (verifier === undefined || verifier.length < SHORTEST_VERIFIER)
    throw invalidGrant('code_verifier is missing or too short')
  const [expected, actual] = [Buffer.from(codeChallenge), Buffer.from(challengeOf(verifier)!)]
  if (expected.length !== actual.length || !timingSafeEqual(expected, actual))
    throw invalidGrant('code_verifier does not match the code_challenge')
}

/** RFC 7636 §4.2, S256; null where there is no verifier. */
function challengeOf(verifier: string | undefined): string | null {
  return verifier === undefined ? null : hash('sha256', verifier, 'base64url')
}

function invalidGrant(description: string): OAuthError {
  return new OAuthError('invalid_grant', description)
}

export default fp(authorizationCode, {
  name: 'latchkey-authorization-code',
  dependencies: ['latchkey-oauth', 'latchkey-token'],
})
