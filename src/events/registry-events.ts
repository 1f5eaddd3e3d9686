/** Events of what is registered beside users and clients: APIs and scopes, roles, upstreams, trusted issuers. */
import type { Changes } from '../protocol/changes.ts'
import { tells } from './tells.ts'

export const REGISTRY_EVENTS = {
  'resource.registered': tells<{ readonly resource: string; readonly changes: Changes }>(),
  'resource.changed': tells<{ readonly resource: string; readonly changes: Changes }>(),
  'resource.deleted': tells<{ readonly resource: string }>(),
  'scope.registered': tells<{ readonly scope: string; readonly changes: Changes }>(),
  'scope.changed': tells<{ readonly scope: string; readonly changes: Changes }>(),
  'scope.deleted': tells<{ readonly scope: string }>(),
  /** A group of a directory too. Its members are users who were changed. */
  'role.registered': tells<{ readonly role: string; readonly changes: Changes }>(),
  /** `role` is what it is called from then on. */
  'role.changed': tells<{ readonly role: string; readonly changes: Changes }>(),
  /** When nobody has it any more. */
  'role.deleted': tells<{ readonly role: string }>(),
  /** `secret` where its client's secret was set, replaced or taken away, of which nothing more is said. */
  'upstream.registered': tells<{
    readonly upstream: string
    readonly changes: Changes
    readonly secret?: true
  }>(),
  'upstream.changed': tells<{
    readonly upstream: string
    readonly changes: Changes
    readonly secret?: true
  }>(),
  'upstream.deleted': tells<{ readonly upstream: string }>(),
  'trusted_issuer.registered': tells<{ readonly issuer: string; readonly changes: Changes }>(),
  'trusted_issuer.changed': tells<{ readonly issuer: string; readonly changes: Changes }>(),
  /** With what came of its JWTs. */
  'trusted_issuer.deleted': tells<{ readonly issuer: string }>(),
}
