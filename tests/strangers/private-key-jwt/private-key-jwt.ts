/**
 * private_key_jwt (RFC 7523 §2.2, OpenID Connect Core §9): a client proves who it is by a JWT that it signs with a key of its
 * `jwks`, or of the document at its `jwks_uri`. Each is good for one request, at whichever process.
 */
import type { FastifyInstance } from 'fastify'
import { createLocalJWKSet, decodeJwt, jwtVerify, type JSONWebKeySet } from 'jose'
import { type Client, OAuthError, type OAuth, Type, type Wire } from 'latchkey'

const METHOD = 'private_key_jwt'
const TYPE = 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer'
const ALGORITHMS = ['ES256', 'PS256', 'RS256', 'EdDSA']
/** Seconds: how far ahead an assertion may end, and how far clocks may differ. */
const [LONGEST, SKEW] = [3600, 10]

export default async function privateKeyJwt({ oauth }: FastifyInstance): Promise<void> {
  oauth.extendClientMetadata(Type.Object({}), (metadata) => {
    if (metadata['token_endpoint_auth_method'] !== METHOD) return
    if ((metadata['jwks'] === undefined) === (metadata['jwks_uri'] === undefined))
      throw new OAuthError('invalid_client_metadata', 'jwks or jwks_uri is needed, and not both')
  })

  oauth.register('clientAuthentication', METHOD, {
    credentials: ['client_assertion', 'client_assertion_type'],
    algorithms: ALGORITHMS,
    recognizes: (_request, wire) => (wire['client_assertion_type'] === TYPE ? claimed(wire) : null),
    async authenticate(_request, wire, client, clientId) {
      const keys = client === null ? NOBODY : await keysOf(oauth, client)
      const claims = await read(wire, keys, audiencesOf(oauth), client)
      if (claims === null || claims.iss !== clientId || claims.sub !== clientId) return false
      const until = new Date((claims.exp + SKEW) * 1000)
      return oauth.once(METHOD, `${clientId} ${claims.jti}`, until)
    },
  })
}

const NOBODY: JSONWebKeySet = { keys: [] }

/** By what it says of itself, which nobody has checked yet. */
function claimed({ client_assertion: assertion, client_id: named }: Wire): string[] {
  try {
    const { sub } = decodeJwt(String(assertion))
    return sub === undefined || sub === '' || (named !== undefined && named !== sub) ? [] : [sub]
  } catch {
    return []
  }
}

/** RFC 9700 and FAPI 2.0 ask for the issuer alone; OpenID Connect Core §9 has clients name the token endpoint. */
function audiencesOf({ issuer, endpoints }: OAuth): string[] {
  const token = endpoints().filter(({ metadata }) => metadata === 'token_endpoint')
  return [issuer, ...token.map(({ path }) => issuer + path)]
}

async function keysOf(oauth: OAuth, { metadata }: Client): Promise<JSONWebKeySet> {
  const { jwks, jwks_uri: uri } = metadata
  const document: unknown = typeof uri === 'string' ? await documentAt(oauth, uri) : jwks
  return isKeySet(document) ? document : NOBODY
}

/** Null for what is no JSON: it is the client's address, and its mistake. */
async function documentAt(oauth: OAuth, uri: string): Promise<unknown> {
  const response = await oauth.fetch(uri)
  return response.json().catch(() => null)
}

function isKeySet(document: unknown): document is JSONWebKeySet {
  return (
    typeof document === 'object' && document !== null && 'keys' in document && Array.isArray(document.keys)
  )
}

/** Null for what is not signed by one of the keys, for us, now. */
async function read(
  { client_assertion: assertion }: Wire,
  keys: JSONWebKeySet,
  audience: string[],
  client: Client | null,
): Promise<{ iss: string; sub: string; jti: string; exp: number } | null> {
  const registered = client?.metadata['token_endpoint_auth_signing_alg']
  try {
    const { payload } = await jwtVerify(String(assertion), createLocalJWKSet(keys), {
      algorithms: typeof registered === 'string' ? [registered] : ALGORITHMS,
      audience,
      clockTolerance: SKEW,
      requiredClaims: ['iss', 'sub', 'exp', 'jti'],
    })
    const { iss, sub, jti, exp } = payload
    if (iss === undefined || sub === undefined || typeof jti !== 'string' || exp === undefined) return null
    return jti === '' || exp > Date.now() / 1000 + LONGEST ? null : { iss, sub, jti, exp }
  } catch {
    return null
  }
}
