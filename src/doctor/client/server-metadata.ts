/** An authorization server, as clients of MCP look for it (RFC 8414 §3, OpenID Connect Discovery §4), and what it lacks for them. */
import type { Fetch } from '../../doors/outbound.ts'
import type { Bag } from '../../protocol/bag.ts'
import { ask, odd, readJson, shown, type Walk, well, Wrong } from './step.ts'

const CHECK = 'server metadata'
const ENDPOINTS = ['authorization_endpoint', 'token_endpoint']

export async function* walkServer(issuer: string, fetch: Fetch): Walk {
  const [found, metadata] = await find(issuer, fetch)
  const wrong = (what: string, remedy: string) => new Wrong(CHECK, what, remedy)
  if (metadata['issuer'] !== issuer)
    throw wrong(`${found} says that its issuer is ${shown(metadata['issuer'])}`, `make it ${issuer}, letter by letter, also in authorization_servers`)
  const missing = ENDPOINTS.find((name) => !URL.canParse(String(metadata[name])))
  if (missing !== undefined) throw wrong(`${found} has no ${missing}`, 'name it')
  const has = (name: string, value: string): boolean => Array.isArray(metadata[name]) && metadata[name].includes(value)
  if (!has('code_challenge_methods_supported', 'S256'))
    throw wrong(`${found} does not say that it supports PKCE by S256`, 'add code_challenge_methods_supported, since clients refuse a server without')
  const documents = metadata['client_id_metadata_document_supported'] === true
  const registers = typeof metadata['registration_endpoint'] === 'string'
  if (!documents && !registers)
    throw wrong(`${issuer} takes neither apps that are known by a document nor apps that register themselves`, 'have it started with OIDC_PROFILE=mcp, OIDC_CLIENT_METADATA_DOCUMENTS=any or OIDC_REGISTRATION=open; else each client has to be registered by you')
  yield well(CHECK, `${found} has what clients need: ${[...(documents ? ['apps by address'] : []), ...(registers ? ['registration'] : [])].join(' and ')}`)
  if (!documents)
    yield odd(CHECK, 'Apps that are known by a document are not taken', 'set OIDC_CLIENT_METADATA_DOCUMENTS=any, since registration is on its way out of MCP')
  if (metadata['authorization_response_iss_parameter_supported'] !== true)
    yield odd(CHECK, 'Its answers have no iss (RFC 9207)', 'add it, since clients of several servers ask for it')
} // prettier-ignore

/** The first of the addresses that answers, in the order of MCP. */
async function find(issuer: string, fetch: Fetch): Promise<[string, Bag]> {
  const { origin, pathname } = new URL(issuer)
  const path = pathname.replace(/\/$/, '')
  const addresses = new Set([
    `${origin}/.well-known/oauth-authorization-server${path}`,
    `${origin}/.well-known/openid-configuration${path}`,
    `${origin}${path}/.well-known/openid-configuration`,
  ])
  for (const address of addresses) {
    const response = await ask(fetch, CHECK, address)
    if (response.status === 200) return [address, await readJson(response, CHECK, address, '')]
  }
  throw new Wrong(
    CHECK,
    `${issuer} has no metadata at ${[...addresses].join(' or ')}`,
    'let the proxy hand these to the authorization server',
  )
}
