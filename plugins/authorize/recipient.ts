/** Whom an authorization request is from, and where its answer may go. Who is wrong here sees a page. */
import type { FastifyInstance } from 'fastify'
import type { Client } from '../../src/doors/client.ts'
import { OAuthError } from '../../src/protocol/errors.ts'
import { isRegisteredRedirectUri } from '../../src/protocol/redirect-uri.ts'
import type { Wire } from '../../src/protocol/wire.ts'

export interface Recipient {
  readonly client: Client
  readonly redirectUri: string
}

const NONE: ReadonlySet<string> = new Set()
const MAX_CLIENT_ID = 256
const MAX_REDIRECT_URI = 2048

export async function findRecipient(
  oauth: FastifyInstance['oauth'],
  wire: Wire,
  repeated: ReadonlySet<string> = NONE,
): Promise<Recipient> {
  const clientId = single('client_id', wire, repeated, MAX_CLIENT_ID)
  const client = await oauth.findClient(clientId)
  if (client === null)
    throw new OAuthError('invalid_client', 'no app is registered under this client_id', { status: 400 })
  const redirectUri = single('redirect_uri', wire, repeated, MAX_REDIRECT_URI)
  const registered = client.metadata['redirect_uris'] as readonly string[]
  if (!isRegisteredRedirectUri(redirectUri, registered))
    throw new OAuthError('invalid_request', 'the redirect_uri is not registered for this client')
  return { client, redirectUri }
}

function single(name: string, wire: Wire, repeated: ReadonlySet<string>, maxLength: number): string {
  const value = wire[name]
  if (value === undefined) throw new OAuthError('invalid_request', `the parameter ${name} is missing`)
  if (typeof value !== 'string' || repeated.has(name))
    throw new OAuthError('invalid_request', `the parameter ${name} is repeated`)
  if (value.length > maxLength) throw new OAuthError('invalid_request', `the parameter ${name} is too long`)
  return value
}
