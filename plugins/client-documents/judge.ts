/**
 * What a metadata document makes of a client: judged as a registration by itself is (docs/adr/0047), but a document speaks to every server
 * there is. So what it names that is not for everybody here is left out and not refused; what it must not be is refused.
 */
import { hash } from 'node:crypto'
import type { SourcedClient } from '../../src/doors/client-source.ts'
import type { Bag } from '../../src/protocol/bag.ts'
import { metadataError } from '../../src/protocol/errors.ts'
import { placeOf } from '../../src/protocol/redirect-uri.ts'
import type { StoredClient } from '../../src/protocol/stored-client.ts'
import type { ClientPolicies } from '../../src/services/clients/client-policies.ts'
import type { ParseOpenMetadata } from '../../src/services/clients/open-metadata.ts'

/** By which people approve all that it gets. */
const GRANT_TYPES = ['authorization_code', 'refresh_token']
const RESPONSE_TYPES = ['code']
/** §4.1: there is no secret that both could know. */
const SECRETS = ['client_secret', 'client_secret_expires_at']
/** What the document may say, and what everybody gets all the same. */
const LEFT_OUT = new Set(['client_id', 'scope'])

export interface JudgeOptions {
  parse: ParseOpenMetadata
  policies: Pick<ClientPolicies, 'isOpen' | 'inspect'>
  /** Registered scopes that it may ask for beside those of OpenID Connect. */
  scopes: readonly string[]
}

export type JudgedClient = { readonly client: StoredClient; readonly identity: string }
/**
 * Throws `OAuthError` with a code of RFC 7591 §3.2.2. One that was `known` is not looked at by plugins again, which may ask elsewhere: what goes
 * on does not depend on that.
 */
export type JudgeDocument = (clientId: string, document: Bag, known?: boolean) => Promise<JudgedClient>

export function createJudgeDocument({ parse, policies, scopes }: JudgeOptions): JudgeDocument {
  return async (clientId, document, known = false) => {
    if (document['client_id'] !== clientId)
      throw metadataError('client_id', 'must be the address of the document')
    const secret = SECRETS.find((member) => document[member] !== undefined && document[member] !== null)
    if (secret !== undefined) throw metadataError(secret, 'must not stand in a document')
    const method = document['token_endpoint_auth_method'] ?? 'none'
    if (typeof method === 'string' && method.startsWith('client_secret_'))
      throw metadataError('token_endpoint_auth_method', 'must not be by a secret')
    const said = Object.entries(document).filter(
      ([name]) => !LEFT_OUT.has(name) && policies.isOpen(name) === true,
    )
    const members = {
      ...Object.fromEntries(said),
      redirect_uri: document['redirect_uri'],
      grant_types: among(document['grant_types'], GRANT_TYPES),
      response_types: among(document['response_types'], RESPONSE_TYPES),
      token_endpoint_auth_method: method,
    }
    const client = await parse(clientId, members, { scopes })
    if (client.redirectUris.length === 0) throw metadataError('redirect_uris', 'must name an address')
    if (client.grantTypes?.includes('authorization_code') !== true)
      throw metadataError('grant_types', 'must have authorization_code')
    if (!known) await policies.inspect(client, false)
    return { client, identity: identityOf(client) }
  }
}

/** A client of which nothing is known but its address: for who shows what it holds. It may do nothing. */
export function bareClient(clientId: string): SourcedClient['client'] {
  const nothing = { redirectUris: [], responseTypes: [], grantTypes: [], scope: [], metadata: {} }
  return { clientId, tokenEndpointAuthMethod: 'none', ...nothing }
}

/** What is no list is left for its schema to refuse. */
function among(asked: unknown, given: readonly string[]): unknown {
  return Array.isArray(asked) ? asked.filter((one) => given.includes(one as string)) : asked
}

/** By what people know it, where it takes them, and as whom it knows them; and by what it proves who it is. */
function identityOf({ clientName, redirectUris, metadata }: StoredClient): string {
  const { logo_uri: logo, jwks, jwks_uri: jwksUri, subject_type: type } = metadata
  const places = [...new Set(redirectUris.map(placeOf))].toSorted()
  const known = [clientName ?? null, logo ?? null, places, jwks ?? null, jwksUri ?? null]
  return hash('sha256', JSON.stringify(type === undefined ? known : [...known, type]), 'base64url')
}
