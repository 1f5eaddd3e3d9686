/** Server metadata: where it is found, and that it says what is registered, no more and no less. */
import { SIGNATURE_ALGORITHMS } from '../../../src/protocol/jwk-set.ts'
import { Type } from 'typebox'
import { describe, expect, test } from 'vitest'
import { startServer, type TestServer } from '../../support/server.ts'
import { freePort } from '../../support/settings.ts'
import { authorizationUrl, SEED } from '../../support/sign-in.ts'
import { rowsWith } from '../../support/left-out.ts'

const OIDC = '/.well-known/openid-configuration'
const OAUTH = '/.well-known/oauth-authorization-server'

async function metadata(server: TestServer): Promise<Record<string, unknown>> {
  return (await (await server.get(OAUTH)).json()) as Record<string, unknown>
}

const GRANTS_OF_PLUGINS = [
  ...rowsWith('latchkey-device-code', ['urn:ietf:params:oauth:grant-type:device_code']),
  ...rowsWith('latchkey-token-exchange', ['urn:ietf:params:oauth:grant-type:token-exchange']),
  ...rowsWith('latchkey-jwt-bearer', ['urn:ietf:params:oauth:grant-type:jwt-bearer']),
]

describe('the document', () => {
  test('is made from what is registered, every member of it', async () => {
    const server = await startServer()
    const { url } = server
    const methods = [
      'client_secret_basic',
      'client_secret_post',
      'none',
      'private_key_jwt',
      'client_secret_jwt',
      ...rowsWith('latchkey-federated-jwt', ['federated_jwt']),
    ]
    const sealing = ['RSA-OAEP-256', 'ECDH-ES', 'ECDH-ES+A128KW', 'ECDH-ES+A256KW']
    const contents = ['A128CBC-HS256', 'A256CBC-HS512', 'A128GCM', 'A256GCM']
    const algorithms = ['RS256', 'ES256', 'PS256', 'EdDSA', 'ES384', 'ES512', 'ML-DSA-44', 'ML-DSA-65']
    const assertions = [...SIGNATURE_ALGORITHMS, 'HS256', 'HS384', 'HS512']
    expect(await metadata(server)).toEqual({
      issuer: url,
      authorization_endpoint: `${url}/authorize`,
      token_endpoint: `${url}/token`,
      userinfo_endpoint: `${url}/userinfo`,
      ui_locales_supported: ['en', 'de', 'es'],
      end_session_endpoint: `${url}/end-session`,
      backchannel_logout_supported: true,
      backchannel_logout_session_supported: true,
      frontchannel_logout_supported: true,
      frontchannel_logout_session_supported: true,
      introspection_endpoint: `${url}/introspect`,
      revocation_endpoint: `${url}/revoke`,
      jwks_uri: `${url}/jwks`,
      response_types_supported: ['code'],
      response_modes_supported: [
        'query',
        'fragment',
        'form_post',
        'query.jwt',
        'fragment.jwt',
        'form_post.jwt',
        'jwt',
      ],
      grant_types_supported: [
        'authorization_code',
        'refresh_token',
        'client_credentials',
        ...GRANTS_OF_PLUGINS,
      ],
      dpop_signing_alg_values_supported: [
        'ES256', 'ES384', 'ES512', 'Ed25519', 'EdDSA', 'PS256', 'PS384', 'PS512',
      ], // prettier-ignore
      code_challenge_methods_supported: ['S256'],
      scopes_supported: ['openid', 'profile', 'email', 'address', 'phone', 'offline_access'],
      subject_types_supported: ['public', 'pairwise'],
      claim_types_supported: ['normal'],
      claims_supported: expect.arrayContaining(['sub', 'auth_time', 'email_verified', 'address']) as string[],
      claims_parameter_supported: true,
      ...rowsWith('latchkey-device-code', {
        device_authorization_endpoint: `${url}/device_authorization`,
      }),
      pushed_authorization_request_endpoint: `${url}/par`,
      require_pushed_authorization_requests: false,
      request_parameter_supported: true,
      request_uri_parameter_supported: true,
      require_request_uri_registration: true,
      require_signed_request_object: false,
      request_object_signing_alg_values_supported: SIGNATURE_ALGORITHMS,
      authorization_response_iss_parameter_supported: true,
      prompt_values_supported: ['none', 'login', 'consent', 'select_account'],
      display_values_supported: ['page', 'popup'],
      acr_values_supported: ['1', ...rowsWith('latchkey-second-factor', ['2'])],
      id_token_signing_alg_values_supported: algorithms,
      id_token_encryption_alg_values_supported: sealing,
      id_token_encryption_enc_values_supported: contents,
      authorization_signing_alg_values_supported: algorithms,
      authorization_encryption_alg_values_supported: sealing,
      authorization_encryption_enc_values_supported: contents,
      introspection_signing_alg_values_supported: algorithms,
      introspection_encryption_alg_values_supported: sealing,
      introspection_encryption_enc_values_supported: contents,
      userinfo_encryption_alg_values_supported: sealing,
      userinfo_encryption_enc_values_supported: contents,
      userinfo_signing_alg_values_supported: algorithms,
      token_endpoint_auth_methods_supported: methods,
      introspection_endpoint_auth_methods_supported: methods.filter((method) => method !== 'none'),
      token_endpoint_auth_signing_alg_values_supported: assertions,
      introspection_endpoint_auth_signing_alg_values_supported: assertions,
      revocation_endpoint_auth_signing_alg_values_supported: assertions,
      revocation_endpoint_auth_methods_supported: methods,
    })
  })

  test('names only addresses that answer', async () => {
    const server = await startServer()
    const answers = { jwks_uri: 200, authorization_endpoint: 400, end_session_endpoint: 200 }
    for (const [name, address] of Object.entries(await metadata(server))) {
      if (!name.endsWith('_endpoint') && !name.endsWith('_uri')) continue
      const { status } = await server.request(String(address), {
        method: name.endsWith('_uri') ? 'GET' : 'POST',
      })
      expect([name, status]).toEqual([name, (answers as Record<string, number>)[name] ?? 401])
    }
  })

  test('is one and the same at both addresses, and may be kept for a while', async () => {
    const server = await startServer()
    const [one, two] = await Promise.all([server.get(OIDC), server.get(OAUTH)])
    expect(await one.text()).toBe(await two.text())
    for (const { headers } of [one, two]) {
      expect(headers.get('content-type')).toBe('application/json')
      expect(headers.get('cache-control')).toBe('public, max-age=60')
    }
  })

  test('does not follow the Host header', async () => {
    const server = await startServer()
    const forged = { host: 'evil.example', 'x-forwarded-host': 'evil.example', 'x-forwarded-proto': 'https' }
    const { body } = await server.server.inject({ url: OIDC, headers: forged })
    expect(body).not.toContain('evil')
  })

  test.each([OIDC, OAUTH])('%s is read-only', async (path) => {
    const server = await startServer()
    const head = await server.request(path, { method: 'HEAD' })
    expect(head.status).toBe(200)
    for (const method of ['POST', 'PUT', 'DELETE']) {
      const response = await server.request(path, { method })
      expect([response.status, response.headers.get('allow')]).toEqual([405, 'GET, HEAD'])
    }
  })
})

describe('an issuer with a path', () => {
  test('has its document where both standards look, and its endpoints below the path', async () => {
    const port = await freePort()
    const origin = `http://127.0.0.1:${port}`
    const issuer = `${origin}/auth/main`
    const server = await startServer({ PORT: port, OIDC_ISSUER: issuer })
    const addresses = [
      `${origin}/auth/main${OIDC}`, `${origin}/auth/main${OAUTH}`,
      `${origin}${OIDC}/auth/main`, `${origin}${OAUTH}/auth/main`,
    ] // prettier-ignore
    for (const address of addresses) {
      const response = await server.get(address)
      expect([address, response.status]).toEqual([address, 200])
      expect(await response.json()).toMatchObject({ issuer, token_endpoint: `${issuer}/token` })
    }
    for (const path of [OIDC, OAUTH, '/token', '/jwks'])
      expect((await server.get(origin + path)).status).toBe(404)
    expect((await server.post('/token')).status).toBe(401)
    expect((await server.get('/jwks')).status).toBe(200)
  })
})

describe('a plugin of ours that is left out', () => {
  const members = {
    'latchkey-introspection': [
      'introspection_endpoint',
      'introspection_endpoint_auth_methods_supported',
      'introspection_endpoint_auth_signing_alg_values_supported',
      'introspection_signing_alg_values_supported',
      'introspection_encryption_alg_values_supported',
      'introspection_encryption_enc_values_supported',
    ],
    'latchkey-revocation': [
      'revocation_endpoint',
      'revocation_endpoint_auth_methods_supported',
      'revocation_endpoint_auth_signing_alg_values_supported',
    ],
    'latchkey-jwks': ['jwks_uri'],
  }
  const paths = {
    'latchkey-introspection': '/introspect',
    'latchkey-revocation': '/revoke',
    'latchkey-jwks': '/jwks',
  }

  test.each(Object.keys(members) as (keyof typeof members)[])('%s takes its members along', async (name) => {
    const whole = await metadata(await startServer())
    const server = await startServer({}, { build: { without: [name] } })
    const missing = Object.keys(whole).filter((member) => !members[name].includes(member))
    expect(Object.keys(await metadata(server))).toEqual(missing)
    expect((await server.post(paths[name])).status).toBe(404)
  })

  test('a name that is none of ours is refused, so that nothing stays on by a slip', async () => {
    const misspelt = startServer({}, { build: { without: ['latchkey-introspecton'] } })
    await expect(misspelt).rejects.toThrow(
      /^There is no plugin latchkey-introspecton to leave out\. Did you mean latchkey-introspection\?$/,
    )
  })

  test('the setting WITHOUT leaves out the same way', async () => {
    const server = await startServer({ WITHOUT: 'latchkey-introspection, latchkey-revocation' })
    const gone: readonly string[] = [...members['latchkey-introspection'], ...members['latchkey-revocation']]
    expect(Object.keys(await metadata(server)).filter((member) => gone.includes(member))).toEqual([])
    for (const path of ['/introspect', '/revoke']) expect((await server.post(path)).status).toBe(404)
    await expect(startServer({ WITHOUT: 'introspection' })).rejects.toThrow(
      /^WITHOUT: there is no plugin introspection to leave out\. Did you mean latchkey-introspection\?$/,
    )
  })

  test('where nothing asks who is there, apps and people are told so', async () => {
    const server = await startServer({ WITHOUT: 'latchkey-login' }, { seed: SEED })
    for (const prompt of ['none', 'login', 'consent']) {
      const { pathname, search } = new URL(authorizationUrl(server, { prompt }))
      const location = (await server.get(pathname + search)).headers.get('location') ?? ''
      expect([prompt, new URL(location).searchParams.get('error')]).toEqual([prompt, 'login_required'])
    }
    expect((await server.get('/sign-in?return_to=/account')).status).toBe(400)
  })

  test('one that others need is refused in a sentence', async () => {
    await expect(startServer({ WITHOUT: 'latchkey-sign-in' })).rejects.toThrow(
      'WITHOUT: latchkey-account needs the plugin latchkey-sign-in: leave out both, or none.',
    )
    await expect(startServer({ WITHOUT: 'latchkey-response-modes' })).rejects.toThrow(
      'WITHOUT: latchkey-authorize needs the plugin latchkey-response-modes: leave out both, or none.',
    )
  })

  const grants = [
    'authorization-code',
    'refresh-token',
    'client-credentials',
    'device-code',
    'token-exchange',
    'jwt-bearer',
    'ciba',
  ].map((name) => `latchkey-${name}`)

  test('the grants: the token endpoint stays, and serves none', async () => {
    const server = await startServer({}, { build: { without: grants } })
    const { grant_types_supported, scopes_supported } = await metadata(server)
    expect(grant_types_supported).toEqual([])
    // What asks for a refresh token is not offered where nobody gets one.
    expect(scopes_supported).toEqual(['openid', 'profile', 'email', 'address', 'phone'])
    const { oauth } = server.server
    const client = await oauth.clients.create({
      scope: ['a'],
      token_endpoint_auth_method: 'client_secret_post',
    })
    const { client_id, client_secret } = client as Record<string, string>
    const form = { grant_type: 'client_credentials', client_id: client_id!, client_secret: client_secret! }
    const response = await server.post('/token', form)
    expect(await response.json()).toMatchObject({ error: 'unsupported_grant_type' })
  })

  test('the token endpoint and its grants: a resource server that revokes', async () => {
    const without = ['latchkey-token', ...grants]
    const document = await metadata(await startServer({}, { build: { without } }))
    expect(document).not.toHaveProperty('token_endpoint')
    expect(document).not.toHaveProperty('grant_types_supported')
    expect(document).toHaveProperty('revocation_endpoint')
  })

  test('one that another needs is missed at boot, by name', async () => {
    const start = startServer({}, { build: { without: ['latchkey-token'] } })
    await expect(start).rejects.toThrow(/latchkey-token/)
  })

  test('discovery and health', async () => {
    const without = ['latchkey-discovery', 'latchkey-health']
    const server = await startServer({}, { build: { without } })
    for (const path of [OIDC, OAUTH, '/healthz', '/readyz']) expect((await server.get(path)).status).toBe(404)
    expect((await server.get('/jwks')).status).toBe(200)
  })
})

test("what a stranger's plugin adds is there", async () => {
  const server = await startServer({}, {
    extend: ({ oauth }) => {
      oauth.registerEndpoint({
        path: '/vouchers',
        metadata: 'voucher_endpoint',
        parameters: Type.Object({}),
        handle: async () => ({}),
      })
      oauth.registerGrant({
        type: 'urn:example:voucher',
        parameters: Type.Object({}),
        authorize: async () => ({ scopes: new Set<string>(), resources: [] }),
      })
      oauth.extend('metadata', async () => ({ voucher_kinds_supported: ['gift'] }))
    },
  }) // prettier-ignore
  expect(await metadata(server)).toMatchObject({
    issuer: server.url,
    voucher_endpoint: `${server.url}/vouchers`,
    voucher_kinds_supported: ['gift'],
    grant_types_supported: [
      'authorization_code',
      'refresh_token',
      'client_credentials',
      ...GRANTS_OF_PLUGINS,
      'urn:example:voucher',
    ],
  })
})
