/** What people approved before, as a token request asks for it. */
import type { Granted } from '../../../src/doors/facts.ts'

/** `resource` is what it asks for of the resources (RFC 8707 §2.2); undefined for all of them that are left. */
export function narrowed(granted: Granted, resource: readonly string[] | undefined): Granted {
  const { resources, refreshable = true } = granted
  return { ...granted, resources: resource ?? resources, approvedResources: resources, refreshable }
}
