/** A client as people see it on our pages. */
import type { ApprovalRequest } from '../../src/doors/approval.ts'
import type { ClientView } from './models.ts'

export function clientView({ client, redirectUri }: ApprovalRequest): ClientView {
  const member = (name: string): string | null => (client.metadata[name] as string | undefined) ?? null
  const homeUri = member('client_uri')
  return {
    name: member('client_name') ?? client.clientId,
    host: hostOf(redirectUri ?? homeUri ?? ''),
    logoUri: member('logo_uri'),
    policyUri: member('policy_uri'),
    tosUri: member('tos_uri'),
    homeUri,
  }
}

/** Null for an app's own scheme, which leads to no host. */
function hostOf(uri: string): string | null {
  return URL.canParse(uri) ? new URL(uri).host || null : null
}
