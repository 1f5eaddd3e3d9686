/** Which grant types are served: those of the token endpoint, and the one that the authorization endpoint serves by itself. */
import type { DoorRegistry } from '../../doors/registry.ts'
import { answersWithTokens } from '../../protocol/response-type.ts'

/** `implicit` is no grant at the token endpoint: it is there where a response type gives tokens (RFC 7591 §2.1). */
export function servedGrantTypes(doors: Pick<DoorRegistry, 'grants' | 'owners'>): ReadonlySet<string> {
  const implicit = [...doors.owners('responseType').keys()].some(answersWithTokens)
  return new Set([...doors.grants.keys(), ...(implicit ? ['implicit'] : [])])
}
