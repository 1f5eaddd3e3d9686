/**
 * Who may call the interface of the administration: by tokens for a resource of its own and for no other, so that no API that sees one can
 * use it here, and with scopes of which each is good for one part. What would let a token get more than it has needs all of them.
 */
import type { FastifyInstance } from 'fastify'
import type { BearerCall } from '../../src/doors/endpoint.ts'
import type { Verified } from '../../src/doors/facts.ts'
import type { User } from '../../src/doors/user.ts'
import { kernelOf } from '../../src/http/kernel-of.ts'
import { OAuthError } from '../../src/protocol/errors.ts'
import { message } from '../../src/protocol/message.ts'
import { ownRequest } from '../../src/services/users/ourselves.ts'
import { ADMIN, isInUse } from '../../src/services/users/user.ts'
import type { AccessToken } from '../require-scope/access-token.ts'
import { BearerError } from '../require-scope/bearer-error.ts'
import requireScope from '../require-scope/index.ts'
import { createOwnVerifier, ownConstraints } from '../resource-server.ts'

/** Below the issuer; with the issuer before it, the identifier of the resource. */
export const PATH = '/admin/api/v1'
/** Those of tokens that may do all that an administrator does. */
export const ALL = 'latchkey:admin'

/** By name, as people who allow an app to have one read it: in English, which catalogues have as it is. */
export const SCOPES = {
  'latchkey:users:read': message('See all users, where they are signed in, and what apps have of them'),
  'latchkey:users:write': message('Register, change and delete users, but no administrators'),
  'latchkey:clients:read': message('See all apps, scopes and resources'),
  'latchkey:clients:write': message('Register, change and delete apps, scopes and resources'),
  'latchkey:audit:read': message('Read the audit log'),
  [ALL]: message('Do all that an administrator of this server does'),
} as const
export type ApiScope = keyof typeof SCOPES

const IMPLIED: Readonly<Partial<Record<ApiScope, readonly ApiScope[]>>> = {
  'latchkey:users:write': ['latchkey:users:read'],
  'latchkey:clients:write': ['latchkey:clients:read'],
  [ALL]: ['latchkey:users:write', 'latchkey:clients:write', 'latchkey:audit:read'],
}
/** What names of scopes begin with that are ours to give a meaning. */
const OURS = 'latchkey:'

/** Whether one of these is a scope by which somebody administers the server. */
export function namesOurs(names: readonly string[] = []): boolean {
  return names.some((name) => name.startsWith(OURS))
}

/** The scope itself, and those that hold it. */
export function holdersOf(scope: ApiScope): readonly ApiScope[] {
  const names = Object.keys(SCOPES) as ApiScope[]
  const broader = names.filter((one) => IMPLIED[one]?.includes(scope) === true)
  return [...new Set<ApiScope>([scope, ...broader.flatMap((one) => holdersOf(one))])]
}

export interface Access {
  /** Guards a route, as `fastify.requireScope` does those of the server itself. */
  readonly requireScope: FastifyInstance['requireScope']
  /** The administrator whom the token is of; null for one that a client got for itself. */
  administratorOf(call: Pick<BearerCall, 'token'>): User | null
  /** For what could be used to get more than the token has: `what` begins the sentence. Throws `insufficient_scope` (RFC 6750 §3.1). */
  assertAll(call: BearerCall, what: string): Promise<void>
}

export async function createAccess(fastify: FastifyInstance): Promise<Access> {
  const { oauth } = fastify
  const { assurance } = kernelOf(fastify)
  const resource = `${oauth.issuer}${PATH}`
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
    const user = await oauth.findUser(authorization.subject)
    if (user === null || !isInUse(user) || !user.roles.includes(ADMIN))
      throw new OAuthError('access_denied', 'the token is of somebody who is no administrator')
    // Nor does anybody sign in here as an administrator whom others vouch for.
    if (authorization.parent !== undefined)
      throw new OAuthError('access_denied', 'the token is not of a sign-in here')
    const { amr = [], acr = null } = authorization.authentication ?? {}
    if ((await assurance.missing(user.id, { amr, acr: acr ?? null }, ownRequest())).length > 0)
      throw new BearerError('insufficient_user_authentication', 'The sign-in lacks a factor')
    return user
  }

  const registration = await registered(fastify, {
    verifier,
    resource,
    senderConstraints: ownConstraints(fastify),
    metadata: { authorization_servers: [oauth.issuer] },
    root: oauth.root,
    implies: IMPLIED,
  })
  const all = registration(ALL)

  return {
    requireScope: registration,
    administratorOf: ({ token }) => administrators.get(token) ?? null,
    async assertAll({ request, reply }, what) {
      try {
        await all(request, reply)
      } catch (error) {
        // Its status and challenge are set.
        if (!(error instanceof BearerError) || error.error !== 'insufficient_scope') throw error
        throw new BearerError(error.error, `${what} needs the scope ${ALL}`)
      }
    },
  }
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
