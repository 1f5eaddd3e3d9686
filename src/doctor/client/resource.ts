/** An API or MCP server, as a client that knows nothing but its address finds out where tokens come from (RFC 9728 §5). */
import type { Fetch } from '../../doors/outbound.ts'
import type { Bag } from '../../protocol/bag.ts'
import { walkServer } from './server-metadata.ts'
import { ask, odd, readJson, shown, type Walk, well, Wrong } from './step.ts'

const WELL_KNOWN = '/.well-known/oauth-protected-resource'
/** The first request of an MCP client. */
export const FIRST = {
  method: 'POST',
  headers: { 'content-type': 'application/json', accept: 'application/json, text/event-stream' },
  body: JSON.stringify({
    jsonrpc: '2.0',
    id: 1,
    method: 'initialize',
    params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'latchkey', version: '1' } },
  }),
} as const // prettier-ignore

export async function* walkResource(url: string, issuer: string, fetch: Fetch): Walk {
  const response = await ask(fetch, 'challenge', url, FIRST)
  const challenge = response.headers.get('www-authenticate')
  assertChallenged(url, response.status)
  const told = /\bresource_metadata="([^"]*)"/i.exec(challenge ?? '')?.[1]
  const known = new URL(url)
  const usual = `${known.origin}${WELL_KNOWN}${known.pathname === '/' ? '' : known.pathname}${known.search}`
  if (challenge === null || !/(?:^|,\s*)(?:Bearer|DPoP)\b/i.test(challenge))
    yield odd(
      'challenge',
      `${url} answers 401 without WWW-Authenticate: Bearer`,
      `add it, with resource_metadata="${usual}"`,
    )
  else if (told === undefined)
    yield odd(
      'challenge',
      'Its WWW-Authenticate names no resource_metadata',
      `add resource_metadata="${usual}", since not every client looks further`,
    )
  else yield well('challenge', `${url} answers 401, and names ${told}`)

  const address = told ?? usual
  if (!URL.canParse(address))
    throw new Wrong('challenge', `Its resource_metadata is ${shown(address)}`, 'make it a whole address')
  const remedy = 'serve the metadata there, to everybody and without a token'
  const metadata = await readJson(
    await ask(fetch, 'resource metadata', address),
    'resource metadata',
    address,
    remedy,
  )
  assertResource(url, metadata)
  const servers = assertServers(metadata)
  yield well('resource metadata', `It is of ${shown(metadata['resource'])}, whose tokens come from ${servers.join(', ')}`)
  if (!servers.includes(issuer))
    yield odd('resource metadata', `It does not name ${issuer}`, 'add it to authorization_servers, if its tokens are to come from here')
  yield* walkServer(servers.includes(issuer) ? issuer : servers[0]!, fetch)
} // prettier-ignore

function assertChallenged(url: string, status: number): void {
  if (status === 401) return
  if (status < 300)
    throw new Wrong(
      'challenge',
      `${url} answers ${status} to a request without a token`,
      'guard it, such as by requireScope',
    )
  if (status === 403)
    throw new Wrong('challenge', `${url} answers 403 to a request without a token`, 'answer 401, since clients look for a token only then')
  throw new Wrong('challenge', `${url} answers ${status}`, 'give the address to which clients send their calls')
} // prettier-ignore

/** Clients compare it with the address that they were given; all forgive a slash at the end, and some a path. */
function assertResource(url: string, { resource }: Bag): void {
  const bare = (text: string): string => text.replace(/\/$/, '')
  if (typeof resource === 'string' && bare(resource) === bare(url)) return
  throw new Wrong(
    'resource metadata',
    `Its resource is ${shown(resource)}, and clients know it as ${url}`,
    'make them one text',
  )
}

function assertServers({ authorization_servers: servers }: Bag): string[] {
  if (Array.isArray(servers) && servers.length > 0 && servers.every((one) => URL.canParse(String(one))))
    return servers.map(String)
  throw new Wrong(
    'resource metadata',
    `Its authorization_servers are ${shown(servers)}`,
    'name the issuer whose tokens it takes',
  )
}
