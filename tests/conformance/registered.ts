/** Clients that the suite registers itself, as its dynamic plans have it: by a request, without a scope, and with keys of their own. */
import { exportJWK, generateKeyPair, type CryptoKey, type JWK } from 'jose'
import * as oauth from 'oauth4webapi'
import { expect } from 'vitest'
import type { Options } from './relying-party.ts'
import { CALLBACK, insecure, type Suite, type SuiteClient } from './suite.ts'

export interface SuiteKey {
  readonly privateKey: CryptoKey
  readonly kid: string
  readonly jwk: JWK
}

/** What was answered, with what proves the client at the token endpoint. */
export interface Registered extends Required<Pick<Options, 'client' | 'authentication'>> {
  readonly told: oauth.OmitSymbolProperties<oauth.Client> & Readonly<Record<string, unknown>>
}

export async function createKey(kid = 'first'): Promise<SuiteKey> {
  const { publicKey, privateKey } = await generateKeyPair('RS256', { extractable: true })
  return { privateKey, kid, jwk: { ...(await exportJWK(publicKey)), kid, use: 'sig', alg: 'RS256' } }
}

/** What is answered, as it is. */
export async function askToRegister({ metadata }: Suite, members: object): Promise<Response> {
  const asked = {
    redirect_uris: [CALLBACK],
    response_types: ['code'],
    grant_types: ['authorization_code'],
    ...members,
  }
  return oauth.dynamicClientRegistrationRequest(metadata, asked, insecure)
}

/** Proven by `private_key_jwt`, unless `members` say otherwise. */
export async function register(suite: Suite, key: SuiteKey, members: object = {}): Promise<Registered> {
  const keys = 'jwks_uri' in members ? {} : { jwks: { keys: [key.jwk] } }
  const asked = {
    client_name: 'Suite',
    contacts: ['suite@suite.example'],
    token_endpoint_auth_method: 'private_key_jwt',
  }
  const response = await askToRegister(suite, { ...asked, ...keys, ...members })
  expect(response.status).toBe(201)
  const told = await oauth.processDynamicClientRegistrationResponse(response)
  // OpenID Connect Registration §3.2: both, or neither.
  expect([told['registration_client_uri'], told['registration_access_token']]).toEqual([
    expect.stringMatching(/^http/),
    expect.stringMatching(/^[\x21-\x7e]+$/),
  ])
  return {
    told,
    client: told as SuiteClient,
    authentication: () => oauth.PrivateKeyJwt({ key: key.privateKey, kid: key.kid }),
  }
}

/** That it was refused as OpenID Connect Registration §3.3 has it. */
export async function expectRefused(response: Response, error: string): Promise<void> {
  expect([response.status, response.headers.get('content-type')]).toEqual([400, 'application/json'])
  expect(await response.json()).toMatchObject({ error })
}
