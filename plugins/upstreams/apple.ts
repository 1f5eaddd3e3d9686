/**
 * What Apple does in its own way, as its documentation says: it knows an app by a JWT in the place of the secret, and answers by a form of its page, to
 * which a person's name is added, the first time alone.
 */
import type { FastifyInstance } from 'fastify'
import { SignJWT } from 'jose'
import { kernelOf } from '../../src/http/kernel-of.ts'
import { readAppleKey } from '../../src/protocol/apple-key.ts'
import { isObject, parseJson } from '../../src/protocol/json.ts'
import type { Upstream } from '../../src/services/upstreams/upstream-registry.ts'

export const APPLE_SCOPE = ['name', 'email']
/** Seconds for which the JWT is good: it is made for one request. */
const LIFETIME = 300

/** Signed by the key that is registered. Throws where there is none. */
export async function appleSecret(upstream: Upstream): Promise<string> {
  const { issuer, client_id: clientId, team_id: teamId, key_id: keyId } = upstream
  return new SignJWT()
    .setProtectedHeader({ alg: 'ES256', kid: keyId! })
    .setIssuer(teamId!)
    .setSubject(clientId)
    .setAudience(issuer)
    .setIssuedAt()
    .setExpirationTime(`${LIFETIME}s`)
    .sign(readAppleKey(upstream.secret() ?? ''))
}

/** Whoever asks for these gets the answer by a form, and in no other way. */
export function answersByForm(scope: readonly string[]): boolean {
  return scope.includes('name') || scope.includes('email')
}

/** What it says of somebody beside the code, on its way through an address of ours. */
export interface AppleUser {
  /** Encrypted, so that no history and no log has it. */
  seal(user: string, state: string): string
  /** The claims that a sealed one has; none for what was not sealed for this state. */
  claimsOf(sealed: string | null, state: string): Readonly<Record<string, string>>
}

export function createAppleUser(fastify: FastifyInstance): AppleUser {
  const { box } = kernelOf(fastify)
  const contextOf = (state: string): string => `user of the answer to ${state}`
  return {
    seal: (user, state) => box.seal(user, contextOf(state)),
    claimsOf(sealed, state) {
      const user = parseJson((sealed === null ? null : box.tryOpen(sealed, contextOf(state))) ?? '')
      const { firstName, lastName } = isObject(user) && isObject(user['name']) ? user['name'] : {}
      const [given_name = '', family_name = ''] = [firstName, lastName].map((one) =>
        typeof one === 'string' ? one.trim() : '',
      )
      const name = `${given_name} ${family_name}`.trim()
      const claims = Object.entries({ given_name, family_name, name })
      return Object.fromEntries(claims.filter(([, value]) => value !== ''))
    },
  }
}
