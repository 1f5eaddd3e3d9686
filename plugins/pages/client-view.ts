/**
 * A client as people see it on our pages. One that registered itself is shown by the host to which it takes people, or by all of them where
 * nobody is on the way; what it calls itself is a claim, and it has no look of its own until an administrator allows it.
 */
import type { ApprovalRequest } from '../../src/doors/approval.ts'
import type { Client } from '../../src/doors/client.ts'
import { webHostOf } from '../../src/protocol/redirect-uri.ts'
import type { ClientView } from './models.ts'

/** Hosts by which one is named at once; one that has more is named by its client_id. */
const MOST_HOMES = 3

export function clientView({ client, redirectUri }: ApprovalRequest): ClientView {
  const member = (name: string): string | null => (client.metadata[name] as string | undefined) ?? null
  const homeUri = member('client_uri')
  const links = { policyUri: member('policy_uri'), tosUri: member('tos_uri') }
  const logoUri = showsLogo(client) ? member('logo_uri') : null
  if (client.registrar === undefined)
    return { ...faceOf(client), host: webHostOf(redirectUri ?? homeUri ?? ''), logoUri, ...links, homeUri }
  const isHome = homeUri !== null && isAtHome(homeUri, client, redirectUri)
  return { ...faceOf(client, redirectUri), host: null, logoUri, ...links, homeUri: isHome ? homeUri : null }
}

/**
 * Where people go into the app: where it begins a sign-in by itself, told by whom (OpenID Connect Core §4), or its home page. Null
 * for none, and for an address that one which registered itself has on another host than it takes people to.
 */
export function entranceOf(request: ApprovalRequest, issuer: string): string | null {
  const { client, redirectUri } = request
  const { homeUri } = clientView(request)
  const initiate = client.metadata['initiate_login_uri'] as string | undefined
  if (initiate === undefined) return homeUri
  if (client.registrar !== undefined && !isAtHome(initiate, client, redirectUri)) return homeUri
  const uri = new URL(initiate)
  uri.searchParams.set('iss', issuer)
  return uri.href
}

/** What a client is called here, and what it calls itself where nobody has checked that. */
export function faceOf(client: Client, redirectUri?: string): Pick<ClientView, 'name' | 'claim'> {
  const name = (client.metadata['client_name'] as string | undefined) ?? null
  if (client.registrar === undefined) return { name: name ?? client.clientId, claim: null }
  const homes = homesOf(client, redirectUri)
  const isNamed = homes.length > 0 && homes.length <= MOST_HOMES
  return { name: isNamed ? homes.join(', ') : client.clientId, claim: name }
}

function isAtHome(uri: string, client: Client, redirectUri: string | undefined): boolean {
  const homes = homesOf(client, redirectUri)
  return homes.length === 1 && homes[0] === webHostOf(uri)
}

/**
 * Where one that registered itself is at home: the host of its document, or the host to which it takes people now (its scheme, for an app
 * on their device), or all of these. The first alone could be anybody's, with the one that it uses behind it.
 */
function homesOf({ clientId, metadata, unregistered }: Client, redirectUri?: string): string[] {
  const registered = (metadata['redirect_uris'] ?? []) as readonly string[]
  const uris = redirectUri === undefined ? registered : [redirectUri]
  const homes = (unregistered === undefined ? uris : [clientId]).map((uri) => webHostOf(uri) ?? schemeOf(uri))
  return [...new Set(homes.filter((home) => home !== null))]
}

/** Whoever registered itself cannot change what an administrator has looked at: `show_logo` is not open to it. */
function showsLogo({ metadata, registrar }: Client): boolean {
  return (metadata['show_logo'] as boolean | undefined) ?? registrar === undefined
}

/** With its colon, by which it is no host. */
function schemeOf(uri: string): string | null {
  return URL.parse(uri)?.protocol ?? null
}
