/**
 * FAPI-CIBA beyond the Foundation's plan: what a request is about, by which algorithms hints and answers are signed, and where people go.
 * @needs latchkey-ciba, latchkey-fapi-ciba
 */
import { decodeProtectedHeader } from 'jose'
import { expect, test } from 'vitest'
import { addBank, PAYMENT } from '../../support/bank.ts'
import { asPem, certify } from '../../support/certificates.ts'
import { GRANT_TYPE, loginHintToken, PATH, signedRequest } from '../../support/ciba.ts'
import {
  assertionOf,
  ASSERTION_TYPE,
  createAssertionKey,
  serviceWith,
} from '../../support/client-assertions.ts'
import { startServer } from '../../support/server.ts'
import { ALICE, REDIRECT_URI } from '../../support/sign-in.ts'

const [key, another, certificate] = await Promise.all([
  createAssertionKey('one', 'ES256'),
  createAssertionKey('another', 'EdDSA'),
  certify('/CN=bank'),
])
const bank = serviceWith('bank', key.jwk, {
  grant_types: [GRANT_TYPE, 'authorization_code'],
  redirect_uris: [REDIRECT_URI],
  jwks: { keys: [key.jwk, another.jwk] },
  backchannel_authentication_request_signing_alg: 'ES256',
  authorization_details_types: ['payment'],
})
const server = await startServer(
  {
    OIDC_PROFILE: 'fapi-ciba',
    OIDC_CIBA: true,
    CLIENT_CERTIFICATE_HEADER: 'Client-Cert',
    TRUSTED_PROXIES: '127.0.0.1',
  },
  { seed: { scopes: [{ name: 'read' }], users: [ALICE], clients: [bank] }, extend: addBank },
)

async function send(path: string, form: Record<string, string>, headers: object = {}): Promise<Response> {
  const client_assertion = await assertionOf(key, bank.client_id, server.url)
  const proven = { ...form, client_assertion, client_assertion_type: ASSERTION_TYPE }
  return server.post(path, proven, { 'client-cert': asPem(certificate), ...headers })
}

async function asked(claims: object): Promise<{ status: number; error?: string }> {
  const request = await signedRequest(key, bank.client_id, server.url, claims)
  const response = await send(PATH, { request })
  return { status: response.status, ...((await response.json()) as object) }
}

test('a request says what it is about: by a message, or by details (§5.2.2)', async () => {
  expect(await asked({})).toMatchObject({
    status: 400,
    error: 'invalid_request',
    error_description: 'binding_message or authorization_details must say what is asked for',
  })
  expect(await asked({ binding_message: '1234' })).toMatchObject({ status: 200 })
  expect(await asked({ authorization_details: [PAYMENT] })).toMatchObject({ status: 200 })
})

test('a login_hint_token is signed by the algorithms of the profile (FAPI 1.0 Advanced §8.6)', async () => {
  const hintedBy = async (by: typeof key) =>
    asked({
      binding_message: '1234',
      login_hint: undefined,
      login_hint_token: await loginHintToken(by, bank.client_id, server.url),
    })
  expect(await hintedBy(another)).toMatchObject({ status: 400, error: 'invalid_request' })
  expect(await hintedBy(key)).toMatchObject({ status: 200 })
})

test('what is signed for a client that registers no algorithm is ES256', async () => {
  const told = await send('/introspect', { token: 'any' }, { accept: 'application/token-introspection+jwt' })
  expect(decodeProtectedHeader(await told.text())).toMatchObject({ alg: 'ES256' })
  const client = await server.server.oauth.findClient(bank.client_id)
  expect(client?.metadata).toMatchObject({ authorization_signed_response_alg: 'ES256' })
  const metadata = (await (await server.get('/.well-known/openid-configuration')).json()) as object
  expect(metadata).toMatchObject({
    authorization_signing_alg_values_supported: ['ES256', 'PS256'],
    introspection_signing_alg_values_supported: ['ES256', 'PS256'],
    id_token_signing_alg_values_supported: ['ES256', 'PS256'],
  })
})

test.each([
  ['redirect_uris', ['http://127.0.0.1/callback']],
  ['authorization_signed_response_alg', 'RS256'],
  ['introspection_signed_response_alg', 'EdDSA'],
  ['access_token_in_query', true],
])('a client with %s %j is not registered', async (member, value) => {
  const { clients } = server.server.oauth
  await expect(clients.create({ ...bank, client_id: 'bad', [member]: value })).rejects.toThrow(member)
})
