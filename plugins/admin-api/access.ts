/**
 * Who may administer by programs: by tokens with scopes of which each is good for one part. What would let a token get more than it has needs
 * all of them.
 */
import type { FastifyInstance } from 'fastify'
import type { BearerCall } from '../../src/doors/endpoint.ts'
import { message } from '../../src/protocol/message.ts'
import { createProgramAccess, type ProgramAccess } from '../programs/access.ts'
import { BearerError } from '../require-scope/bearer-error.ts'

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

const IMPLIED: Readonly<Record<string, readonly ApiScope[]>> = {
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

export interface Access extends ProgramAccess {
  /** For what could be used to get more than the token has: `what` begins the sentence. Throws `insufficient_scope` (RFC 6750 §3.1). */
  assertAll(call: BearerCall, what: string): Promise<void>
}

export async function createAccess(fastify: FastifyInstance): Promise<Access> {
  const access = await createProgramAccess(fastify, { path: PATH, implies: IMPLIED })
  const all = access.requireScope(ALL)
  return {
    ...access,
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
