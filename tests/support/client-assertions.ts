/** Clients that prove who they are by JWTs (RFC 7523): their keys, their assertions, and what they are told. */
import { randomUUID } from 'node:crypto'
import { exportJWK, generateKeyPair, SignJWT, type CryptoKey, type JWK } from 'jose'
import type { Requests } from './requests.ts'

export const ASSERTION_TYPE = 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer'

export interface AssertionKey {
  readonly alg: string
  readonly kid?: string | undefined
  readonly privateKey: CryptoKey | Uint8Array
}

export async function createAssertionKey(
  kid: string | undefined = 'one',
  alg = 'ES256',
): Promise<AssertionKey & { jwk: JWK; privateKey: CryptoKey }> {
  const { publicKey, privateKey } = await generateKeyPair(alg, { extractable: true })
  return { alg, kid, privateKey, jwk: { ...(await exportJWK(publicKey)), kid } }
}

/** A client that gets tokens for itself by private_key_jwt. */
export const serviceWith = (client_id: string, jwk: JWK, more: object = {}) => ({
  client_id,
  token_endpoint_auth_method: 'private_key_jwt',
  grant_types: ['client_credentials'],
  scope: ['read'],
  jwks: { keys: [jwk] },
  ...more,
})

/** Seconds since the epoch. */
export const inSeconds = (ahead: number): number => Math.floor(Date.now() / 1000) + ahead

/** As RFC 7523 §3 has it; `claims` and `header` are laid over it, and take away what they have as undefined. */
export async function assertionOf(
  { alg, kid, privateKey }: AssertionKey,
  clientId: string,
  aud: string,
  claims: object = {},
  header: object = {},
): Promise<string> {
  const usual = { iss: clientId, sub: clientId, aud, jti: randomUUID(), exp: inSeconds(60) }
  const usualHeader = { alg, ...(kid === undefined ? {} : { kid }) }
  return new SignJWT({ ...usual, ...claims })
    .setProtectedHeader({ ...usualHeader, ...header })
    .sign(privateKey)
}

export interface Told {
  readonly status: number
  readonly error?: string
  readonly error_description?: string
  readonly access_token?: string
}

/** What the token endpoint says to whoever shows an assertion. */
export async function askWith(
  client_assertion: string,
  { post }: Requests,
  more: object = {},
): Promise<Told> {
  const form = { grant_type: 'client_credentials', client_assertion, client_assertion_type: ASSERTION_TYPE }
  const response = await post('/token', { ...form, ...more })
  return { ...((await response.json()) as object), status: response.status }
}
