/** A client as it is served, made of what is stored of it, with what only its authentication needs. */
import type { Client, Unregistered } from '../../doors/client.ts'
import { effectiveGrantTypes, toMetadata } from '../../protocol/stored-client.ts'
import type { ClientRow } from '../../store/clients.ts'
import type { StoredSecret } from './client-secrets.ts'
import type { Profiles } from './profiles.ts'

/** The right to introspect other clients' tokens: named in a scope list, never granted. */
export const TOKEN_INTROSPECTION = 'token_introspection'

/** Where a client carries what only authentication needs: seen by nothing that lists or prints it. */
const KEPT = Symbol('kept')

interface Kept {
  readonly secrets: readonly StoredSecret[]
  readonly revision: string
}

function keptOf(client: Client | null): Kept | undefined {
  return (client as { readonly [KEPT]?: Kept } | null)?.[KEPT]
}

/** The stored secrets of a client that came from the directory; none where there is no client. */
export function secretsOf(client: Client | null): readonly StoredSecret[] {
  return keptOf(client)?.secrets ?? []
}

/** Tells how a client is registered now from how it was before: another one with each change. */
export function revisionOf(client: Client): string | undefined {
  return keptOf(client)?.revision
}

export function toClient(
  row: ClientRow,
  profiles?: Pick<Profiles, 'served' | 'conflictOf'>,
  unregistered?: Unregistered,
): Client {
  const { secrets, scopeClients, createdAt: _createdAt, revision, ...stored } = row
  const reserved = new Set([...scopeClients, TOKEN_INTROSPECTION])
  const method = row.tokenEndpointAuthMethod ?? undefined
  const registered = toMetadata(stored, secrets.length > 0)
  const client: Client = {
    clientId: row.clientId,
    registeredAt: row.createdAt.getTime(),
    scope: row.scope,
    grantableScopes: new Set(row.scope.filter((name) => !reserved.has(name))),
    grantTypes: new Set(effectiveGrantTypes(stored, secrets.length > 0)),
    authenticationMethod: method,
    metadata: Object.freeze(profiles?.served(registered) ?? registered),
    conflict: profiles?.conflictOf(registered),
    registrar: row.registrar ?? undefined,
    ...(unregistered === undefined ? {} : { unregistered }),
    isPublic: () => method === 'none',
  }
  Object.defineProperty(client, KEPT, { value: { secrets, revision } satisfies Kept })
  return Object.freeze(client)
}
