/**
 * Who may call the interface of the administration: by tokens for a resource of its own, so that no API that sees tokens for the server can
 * use one here, and with scopes of which each is good for one part. What would let a token get more than it has needs all of them.
 */
import type { FastifyInstance } from 'fastify'
import type { BearerCall } from '../../src/doors/endpoint.ts'
import type { User } from '../../src/doors/user.ts'
import { OAuthError } from '../../src/protocol/errors.ts'
import { message } from '../../src/protocol/message.ts'
import { ADMIN, isInUse } from '../../src/services/users/user.ts'
import { BearerError } from '../require-scope/bearer-error.ts'
import { formatChallenge } from '../require-scope/challenge.ts'
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
  [ALL]: message('Administer this server: users, administrators, apps and keys'),
} as const
export type ApiScope = keyof typeof SCOPES

const IMPLIED: Readonly<Partial<Record<ApiScope, readonly ApiScope[]>>> = {
  'latchkey:users:write': ['latchkey:users:read'],
  'latchkey:clients:write': ['latchkey:clients:read'],
  [ALL]: ['latchkey:users:write', 'latchkey:clients:write', 'latchkey:audit:read'],
}
/** Names of scopes that are ours to give a meaning. */
const OURS = 'latchkey:'

/** Whether a list of scopes has one by which somebody administers the server. */
export function namesOurs(scope: readonly string[] | undefined): boolean {
  return scope?.some((name) => name.startsWith(OURS)) ?? false
}

/** What guards a route of the interface, as `fastify.requireScope` does those of the server itself. */
export async function createAccess(fastify: FastifyInstance): Promise<FastifyInstance['requireScope']> {
  const { oauth } = fastify
  let own: FastifyInstance['requireScope'] | undefined

  /** Whoever it is of must be an administrator now, and the client still have what it was given once. */
  const verifier = createOwnVerifier(oauth, async ({ authorization }, { clientId, scopes }) => {
    const client = await oauth.findClient(clientId)
    const isStranger = client === null || client.registrar !== undefined
    const held = new Set(isStranger ? [] : client.scope)
    const user = authorization?.subject === undefined ? null : await administrator(authorization.subject)
    return { scopes: new Set([...scopes].filter((name) => held.has(name))), user }
  })

  async function administrator(id: string): Promise<User> {
    const user = await oauth.findUser(id)
    if (user !== null && isInUse(user) && user.roles.includes(ADMIN)) return user
    throw new BearerError('insufficient_scope', 'The token is of somebody who is no administrator')
  }

  await fastify.register(async (scope) => {
    await scope.register(requireScope, {
      verifier,
      resource: `${oauth.issuer}${PATH}`,
      senderConstraints: ownConstraints(fastify),
      metadata: { authorization_servers: [oauth.issuer] },
      root: oauth.root,
      implies: IMPLIED,
    })
    own = scope.requireScope
  })
  return own!
}

/** The administrator whom the token is of; null for one that a client got for itself. */
export function administratorOf({ token }: Pick<BearerCall, 'token'>): User | null {
  return (token as { readonly user?: User | null }).user ?? null
}

/** For what could be used to get more than the token has. Throws `insufficient_scope` (RFC 6750 §3.1). */
export function assertAll({ token }: Pick<BearerCall, 'token'>, what: string): void {
  if (token.scopes.has(ALL)) return
  const description = `${what} needs the scope ${ALL}`
  const [realm = ''] = token.audience
  const challenge = formatChallenge({
    realm,
    error: 'insufficient_scope',
    error_description: description,
    scope: ALL,
  })
  throw new OAuthError('insufficient_scope', description, { headers: { 'www-authenticate': challenge } })
}
