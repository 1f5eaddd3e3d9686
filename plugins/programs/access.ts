/**
 * Who may call an interface of the server that is there for programs: by tokens for a resource of its own and for no other, so that no API that
 * sees one can use it here. A token is a client's own, or of somebody who is an administrator now.
 */
import type { FastifyInstance } from 'fastify'
import type { Requirement } from '../../src/doors/assurance.ts'
import type { BearerCall } from '../../src/doors/endpoint.ts'
import type { Verified } from '../../src/doors/facts.ts'
import type { User } from '../../src/doors/user.ts'
import { kernelOf } from '../../src/http/kernel-of.ts'
import { OAuthError } from '../../src/protocol/errors.ts'
import { ownRequest } from '../../src/services/users/ourselves.ts'
import { ADMIN, isInUse } from '../../src/services/users/user.ts'
import { findPresent } from '../password/kept-elsewhere.ts'
import type { AccessToken } from '../require-scope/access-token.ts'
import { reachesAcr } from '../require-scope/acr.ts'
import { BearerError } from '../require-scope/bearer-error.ts'
import requireScope from '../require-scope/index.ts'
import { createOwnVerifier, ownConstraints } from '../resource-server.ts'

export interface ProgramAccess {
  /** Guards a route, as `fastify.requireScope` does those of the server itself. */
  readonly requireScope: FastifyInstance['requireScope']
  /** The id of the administrator whom the token is of, whatever `sub` its client knows them by; null for one that a client got for itself. */
  administratorOf(token: AccessToken): string | null
  /** Has the audit log name the administrator whom the token is of; a token that a client got for itself is the client's. */
  nameActor(call: Pick<BearerCall, 'token' | 'request'>): void
}

/** Of all interfaces that there are, also of those that are off: nobody else's resource is to stand in their way. */
export const PROGRAM_PATHS = ['/admin/api/v1', '/scim/v2', '/ssf', '/global-token-revocation'] as const

export interface ProgramInterface {
  /** Below the issuer; with the issuer before it, the identifier of the resource. */
  readonly path: (typeof PROGRAM_PATHS)[number]
  /** Which scopes hold which others. */
  readonly implies: Readonly<Record<string, readonly string[]>>
}

export async function createProgramAccess(
  fastify: FastifyInstance,
  { path, implies }: ProgramInterface,
): Promise<ProgramAccess> {
  const { oauth } = fastify
  const { assurance } = kernelOf(fastify)
  const resource = `${oauth.issuer}${path}`
  const administrators = new WeakMap<AccessToken, User>()

  /** Whoever it is of must be an administrator now, and the client still have what it was given once. */
  const verifier = createOwnVerifier(oauth, async (verified, token) => {
    // The guard has judged neither yet.
    const other = token.audience.find((one) => one !== resource)
    if (other !== undefined && token.audience.includes(resource))
      throw new BearerError(
        'invalid_token',
        'The token is for others too: ask for one with this resource alone',
      )
    const client = await oauth.findClient(token.clientId)
    const isStranger = client === null || client.registrar !== undefined
    const held = new Set(isStranger ? [] : client.scope)
    const user = await personOf(verified, token)
    if (user !== null) administrators.set(token, user)
    return { scopes: new Set([...token.scopes].filter((name) => held.has(name))) }
  })

  /** Null where the client is there for itself (RFC 9068 §2.2). */
  async function personOf({ authorization }: Verified, token: AccessToken): Promise<User | null> {
    if (authorization?.subject === undefined) {
      if (token.subject === token.clientId) return null
      throw new BearerError('invalid_token', 'The access token stands for nobody')
    }
    const user = await findPresent(oauth, authorization.subject)
    if (user === null || !isInUse(user) || !user.roles.includes(ADMIN))
      throw new OAuthError('access_denied', 'the token is of somebody who is no administrator')
    // Nor does anybody sign in here as an administrator whom others vouch for.
    if (authorization.parent !== undefined)
      throw new OAuthError('access_denied', 'the token is not of a sign-in here')
    const { amr = [], acr = null } = authorization.authentication ?? {}
    const missing = await assurance.missing(user.id, { amr, acr: acr ?? null }, ownRequest(), { of: token })
    if (missing.length > 0)
      throw new BearerError('insufficient_user_authentication', 'The sign-in lacks a factor', {
        challenge: challengeOf(missing),
      })
    return user
  }

  const guard = await registered(fastify, {
    verifier,
    resource,
    senderConstraints: ownConstraints(fastify),
    metadata: { authorization_servers: [oauth.issuer] },
    root: oauth.root,
    implies,
  })
  return {
    requireScope: guard,
    administratorOf: (token) => administrators.get(token)?.id ?? null,
    nameActor({ token, request }) {
      const administrator = administrators.get(token)
      if (administrator !== undefined) request.actor = { kind: 'user', id: administrator.id }
    },
  }
}

/** RFC 9470 §3: the values of `acr` by which all of it would be met. How long ago the sign-in was is nothing that we ask. */
function challengeOf(missing: readonly Requirement[]): Readonly<Record<string, string>> {
  const [named, ...others] = missing.flatMap(({ acr }) => (acr === undefined ? [] : [acr]))
  const enough = named?.filter((value) =>
    others.every((one) => one.some((least) => reachesAcr(value, least))),
  )
  return enough === undefined || enough.length === 0 ? {} : { acr_values: enough.join(' ') }
}

/** What a registration of the guard decorates in an instance of its own. */
async function registered(
  fastify: FastifyInstance,
  options: Parameters<typeof requireScope>[1],
): Promise<FastifyInstance['requireScope']> {
  let decorated: FastifyInstance['requireScope'] | undefined
  await fastify.register(async (scope) => {
    await scope.register(requireScope, options)
    decorated = scope.requireScope
  })
  if (decorated === undefined) throw new Error('the guard of the interface was not registered')
  return decorated
}
