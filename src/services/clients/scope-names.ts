/**
 * Names that stand in a client's `scope`: those that mean nothing yet, since no scope is registered under them and no client;
 * and those that no client may have, since there they mean something else.
 */
import type { FastifyBaseLogger } from 'fastify'
import { metadataError } from '../../protocol/errors.ts'
import { reason } from '../../protocol/message.ts'
import { OPENID_SCOPES } from '../../protocol/scope.ts'
import { statements } from '../../store/clients.ts'
import type { Database } from '../../store/database.ts'
import { TOKEN_INTROSPECTION } from './served-client.ts'

/** Of what is legal and seldom meant. */
export interface Strictness {
  /** A name in `scope` that is registered nowhere is refused; else a warning tells of it. Default false. */
  strict?: boolean
  /** Of a member and a name in it that nothing serves here: whether the server does elsewhere. Default: no. */
  isServed?: (member: string, name: string) => boolean
}

/** Those of `scopes`, in their order. They are granted all the same, for the default resource. */
export type FindUnregistered = (scopes: Iterable<string>) => Promise<readonly string[]>

const KNOWN = new Set([...OPENID_SCOPES, TOKEN_INTROSPECTION])

/** @internal */
export function createFindUnregistered(database: Database): FindUnregistered {
  return async (scopes) => {
    const names = [...new Set(scopes)].filter((name) => !KNOWN.has(name))
    if (names.length === 0) return []
    const found = new Set((await database.query(statements.registeredNames, [names])).map(({ name }) => name))
    return names.filter((name) => !found.has(name))
  }
}

/** What is to be said of a client's scopes once it is stored. Throws where it is strict and one is registered nowhere. */
export type JudgeScopes = (
  clientId: string,
  scope: readonly string[] | undefined,
  strict: boolean,
) => Promise<() => void>

/** @internal */
export function createScopeJudge(findUnregistered: FindUnregistered, log: FastifyBaseLogger): JudgeScopes {
  return async (client, scope = [], strict) => {
    const scopes = (await findUnregistered(scope)).filter((name) => name !== client)
    if (strict && scopes.length > 0)
      throw metadataError('scope', `names what is registered nowhere: ${scopes.join(' ')}`)
    return () => {
      if (scopes.length > 0)
        log.warn({ client, scopes }, 'no scope is registered under these names: they are granted as they are')
    }
  }
}

/**
 * Throws for a client_id that is a right or a scope of OpenID Connect: in a client's list, its name is the right to introspect
 * the client's tokens, and the scope could never be granted again.
 */
export function assertNotTaken(clientId = ''): void {
  if (clientId === TOKEN_INTROSPECTION)
    throw metadataError('client_id', reason('is the name of a right: choose another'))
  if (OPENID_SCOPES.has(clientId)) throw namesScope()
}

export function namesScope(): Error {
  return metadataError('client_id', reason('is the name of a scope: choose another'))
}
