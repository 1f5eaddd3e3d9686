/**
 * A client as people see it on our pages. One that registered itself is shown by the host to which it takes people; what it calls itself is
 * a claim, and it has no look of its own until an administrator allows it.
 */
import type { ApprovalRequest } from '../../src/doors/approval.ts'
import type { Client } from '../../src/doors/client.ts'
import type { ClientView } from './models.ts'

export function clientView({ client, redirectUri }: ApprovalRequest): ClientView {
  const member = (name: string): string | null => (client.metadata[name] as string | undefined) ?? null
  const homeUri = member('client_uri')
  const links = { policyUri: member('policy_uri'), tosUri: member('tos_uri') }
  const logoUri = showsLogo(client) ? member('logo_uri') : null
  if (client.registrar === undefined)
    return { ...faceOf(client), host: hostOf(redirectUri ?? homeUri ?? ''), logoUri, ...links, homeUri }
  const home = redirectUri ?? redirectUriOf(client)
  const isHome = homeUri !== null && hostOf(homeUri) === hostOf(home)
  return { ...faceOf(client, home), host: null, logoUri, ...links, homeUri: isHome ? homeUri : null }
}

/**
 * Where people go into the app: where it begins a sign-in by itself, told by whom (OpenID Connect Core §4), or its home page. Null
 * for none, and for an address that one which registered itself has on another host than it takes people to.
 */
export function entranceOf(request: ApprovalRequest, issuer: string): string | null {
  const { client, redirectUri = redirectUriOf(client) } = request
  const { homeUri } = clientView(request)
  const initiate = client.metadata['initiate_login_uri'] as string | undefined
  if (initiate === undefined) return homeUri
  if (client.registrar !== undefined && hostOf(initiate) !== hostOf(redirectUri)) return homeUri
  const uri = new URL(initiate)
  uri.searchParams.set('iss', issuer)
  return uri.href
}

/** What a client is called here, and what it calls itself where nobody has checked that. */
export function faceOf(
  client: Client,
  redirectUri = redirectUriOf(client),
): Pick<ClientView, 'name' | 'claim'> {
  const name = (client.metadata['client_name'] as string | undefined) ?? null
  if (client.registrar === undefined) return { name: name ?? client.clientId, claim: null }
  if (client.unregistered !== undefined)
    return { name: hostOf(client.clientId) ?? client.clientId, claim: name }
  return { name: hostOf(redirectUri) ?? schemeOf(redirectUri) ?? client.clientId, claim: name }
}

/** Whoever registered itself cannot change what an administrator has looked at: `show_logo` is not open to it. */
function showsLogo({ metadata, registrar }: Client): boolean {
  return (metadata['show_logo'] as boolean | undefined) ?? registrar === undefined
}

function redirectUriOf({ metadata }: Client): string {
  const [first = ''] = (metadata['redirect_uris'] ?? []) as readonly string[]
  return first
}

/** Null for an app's own scheme, which leads to no host. */
function hostOf(uri: string): string | null {
  return URL.parse(uri)?.host || null
}

/** With its colon, by which it is no host. */
function schemeOf(uri: string): string | null {
  return URL.parse(uri)?.protocol ?? null
}
