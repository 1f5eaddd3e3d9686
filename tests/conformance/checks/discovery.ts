/** The discovery document and the keys it names. */
import * as oauth from 'oauth4webapi'
import { importJWK, type JWK } from 'jose'
import { expect } from 'vitest'
import { startServer } from '../../support/server.ts'
import type { Checks } from '../plan.ts'
import type { Suite } from '../suite.ts'

const WELL_KNOWN = '/.well-known/openid-configuration'
/** Members of RFC 8414, OpenID Connect Discovery and what else is registered with IANA; the suite warns of others. */
const REGISTERED = [
  'issuer', 'authorization_endpoint', 'token_endpoint', 'userinfo_endpoint', 'jwks_uri', 'registration_endpoint',
  'introspection_endpoint', 'revocation_endpoint', 'end_session_endpoint', 'device_authorization_endpoint',
  'pushed_authorization_request_endpoint', 'require_pushed_authorization_requests', 'check_session_iframe',
  'scopes_supported', 'response_types_supported', 'response_modes_supported', 'grant_types_supported',
  'acr_values_supported', 'subject_types_supported', 'id_token_signing_alg_values_supported',
  'id_token_encryption_alg_values_supported', 'id_token_encryption_enc_values_supported',
  'userinfo_signing_alg_values_supported', 'userinfo_encryption_alg_values_supported',
  'userinfo_encryption_enc_values_supported', 'request_object_signing_alg_values_supported',
  'request_object_encryption_alg_values_supported', 'request_object_encryption_enc_values_supported',
  'authorization_signing_alg_values_supported', 'authorization_encryption_alg_values_supported',
  'authorization_encryption_enc_values_supported', 'token_endpoint_auth_methods_supported',
  'token_endpoint_auth_signing_alg_values_supported', 'introspection_endpoint_auth_methods_supported',
  'introspection_endpoint_auth_signing_alg_values_supported', 'introspection_signing_alg_values_supported',
  'introspection_encryption_alg_values_supported', 'introspection_encryption_enc_values_supported',
  'revocation_endpoint_auth_methods_supported', 'revocation_endpoint_auth_signing_alg_values_supported',
  'display_values_supported', 'claim_types_supported', 'claims_supported', 'claims_parameter_supported',
  'claims_locales_supported', 'ui_locales_supported', 'prompt_values_supported', 'service_documentation',
  'op_policy_uri', 'op_tos_uri', 'request_parameter_supported', 'request_uri_parameter_supported',
  'require_request_uri_registration', 'require_signed_request_object', 'code_challenge_methods_supported',
  'authorization_response_iss_parameter_supported', 'dpop_signing_alg_values_supported', 'mtls_endpoint_aliases',
  'tls_client_certificate_bound_access_tokens', 'authorization_details_types_supported', 'protected_resources',
  'frontchannel_logout_supported', 'frontchannel_logout_session_supported', 'backchannel_logout_supported',
  'backchannel_logout_session_supported', 'backchannel_authentication_endpoint',
  'backchannel_token_delivery_modes_supported', 'backchannel_user_code_parameter_supported',
  'backchannel_authentication_request_signing_alg_values_supported', 'client_id_metadata_document_supported',
  'signed_metadata',
] // prettier-ignore

type Document = Readonly<Record<string, unknown>>

/** What discovery answers, judged as HTTP; by injection, so that the issuer may have any name. */
export async function discover({ server }: Pick<Suite['server'], 'server'>): Promise<Document> {
  const response = await server.inject({ url: WELL_KNOWN })
  expect([response.statusCode, response.headers['content-type']]).toEqual([200, 'application/json'])
  return response.json<Document>()
}

/** Every address lies below the issuer, at https or on this machine. */
export function expectAddresses(document: Document, issuer: string): void {
  const { protocol, hostname } = new URL(issuer)
  expect(protocol === 'https:' || hostname === '127.0.0.1').toBe(true)
  for (const [name, address] of Object.entries(document)) {
    if (!/_(endpoint|uri|iframe)$/.test(name)) continue
    expect([name, String(address).startsWith(`${issuer}/`), URL.canParse(String(address))]).toEqual([
      name, true, true,
    ]) // prettier-ignore
  }
}

/** The types that the standards give to the members: an array of strings, never empty, or a boolean, or a string. */
function expectTypes(document: Document): void {
  for (const [name, value] of Object.entries(document)) {
    expect(REGISTERED).toContain(name)
    if (
      /_(values|types|modes|methods|locales|claims|scopes)_supported$|^(scopes|claims)_supported$/.test(name)
    ) {
      expect([name, value]).toEqual([name, expect.arrayContaining([expect.any(String)])])
      expect(new Set(value as string[]).size).toBe((value as string[]).length)
    } else if (/_(supported|required)$|^require_/.test(name))
      expect([name, typeof value]).toEqual([name, 'boolean'])
    else expect([name, typeof value]).toEqual([name, 'string'])
  }
}

/** Public signing keys of these algorithms, each under a name of its own, none of them weak. */
async function expectKeys({ keys }: { keys: JWK[] }, algorithms: readonly string[]): Promise<void> {
  expect(new Set(keys.map(({ kid }) => kid)).size).toBe(keys.length)
  for (const jwk of keys) {
    const { kid, use, alg, kty, n } = jwk
    expect({ kid, use, alg }).toEqual({ kid: expect.any(String), use: 'sig', alg: expect.any(String) })
    for (const member of ['d', 'p', 'q', 'dp', 'dq', 'qi', 'oth', 'k']) expect(jwk).not.toHaveProperty(member)
    expect(['RSA', 'EC', 'OKP']).toContain(kty)
    if (kty === 'RSA') expect(Buffer.from(n!, 'base64url').length).toBeGreaterThanOrEqual(256)
    await importJWK(jwk)
  }
  expect(keys.map(({ alg }) => alg)).toEqual(expect.arrayContaining([...algorithms]))
}

export const discovery = {
  'oidcc-discovery-endpoint-verification': async ({ server }) => {
    const document = await discover(server)
    expect(document).toMatchObject({
      issuer: server.url,
      authorization_endpoint: `${server.url}/authorize`,
      token_endpoint: `${server.url}/token`,
      userinfo_endpoint: `${server.url}/userinfo`,
      jwks_uri: `${server.url}/jwks`,
      response_types_supported: expect.arrayContaining(['code']) as unknown,
      response_modes_supported: expect.arrayContaining(['query', 'form_post']) as unknown,
      grant_types_supported: expect.arrayContaining(['authorization_code', 'refresh_token']) as unknown,
      subject_types_supported: expect.arrayContaining(['public']) as unknown,
      id_token_signing_alg_values_supported: expect.arrayContaining(['RS256']) as unknown,
      userinfo_signing_alg_values_supported: expect.arrayContaining(['RS256']) as unknown,
      scopes_supported: expect.arrayContaining(['openid', 'profile', 'email', 'address', 'phone']) as unknown,
      claims_supported: expect.arrayContaining(['sub', 'name', 'email', 'auth_time', 'acr']) as unknown,
      token_endpoint_auth_methods_supported: expect.arrayContaining([
        'client_secret_basic', 'client_secret_post',
      ]) as unknown,
      code_challenge_methods_supported: ['S256'],
      claims_parameter_supported: true,
      request_parameter_supported: true,
      request_uri_parameter_supported: true,
      authorization_response_iss_parameter_supported: true,
    }) // prettier-ignore
    for (const scope of document['scopes_supported'] as string[])
      expect(scope).toMatch(/^[\x21\x23-\x5b\x5d-\x7e]+$/)
    expect(document['id_token_signing_alg_values_supported']).not.toContain('none')
    expectTypes(document)
    expectAddresses(document, server.url)
    const jwks = (await (await server.get('/jwks')).json()) as { keys: JWK[] }
    await expectKeys(jwks, ['RS256', 'ES256'])

    // As it is certified: at https, behind a proxy. oauth4webapi compares the issuer with the address by itself.
    const issuer = 'https://op.example'
    const secure = await startServer({ OIDC_ISSUER: issuer })
    const judged = await oauth.processDiscoveryResponse(
      new URL(issuer),
      new Response(JSON.stringify(await discover(secure)), {
        headers: { 'content-type': 'application/json' },
      }),
    )
    expectAddresses(judged, issuer)
  },
} satisfies Checks
