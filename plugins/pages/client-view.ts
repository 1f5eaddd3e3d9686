/** A client as people see it on our pages. One that registered itself has no look of its own until an administrator allows it. */
import type { ApprovalRequest } from '../../src/doors/approval.ts'
import type { Client } from '../../src/doors/client.ts'
import type { ClientView } from './models.ts'

export function clientView({ client, redirectUri }: ApprovalRequest): ClientView {
  const member = (name: string): string | null => (client.metadata[name] as string | undefined) ?? null
  const homeUri = member('client_uri')
  return {
    name: member('client_name') ?? client.clientId,
    host: hostOf(redirectUri ?? homeUri ?? ''),
    logoUri: showsLogo(client) ? member('logo_uri') : null,
    policyUri: member('policy_uri'),
    tosUri: member('tos_uri'),
    homeUri,
  }
}

/** Whoever registered itself cannot change what an administrator has looked at: `show_logo` is not open to it. */
function showsLogo({ metadata, registrar }: Client): boolean {
  return (metadata['show_logo'] as boolean | undefined) ?? registrar === undefined
}

/** Null for an app's own scheme, which leads to no host. */
function hostOf(uri: string): string | null {
  return URL.canParse(uri) ? new URL(uri).host || null : null
}
