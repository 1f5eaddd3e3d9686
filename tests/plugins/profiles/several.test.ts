/**
 * Several profiles at once: a client keeps the rules of each, in whichever order OIDC_PROFILE names them, and its own beside them.
 * @needs latchkey-ciba, latchkey-fapi-ciba
 */
import { describe, expect, test } from 'vitest'
import { asPem, certify } from '../../support/certificates.ts'
import {
  assertionOf,
  ASSERTION_TYPE,
  createAssertionKey,
  inSeconds,
  serviceWith,
} from '../../support/client-assertions.ts'
import { createDpopKey, prove } from '../../support/dpop.ts'
import { requestObject } from '../../support/request-objects.ts'
import { startServer } from '../../support/server.ts'
import { REDIRECT_URI } from '../../support/sign-in.ts'

const CHALLENGE = {
  code_challenge: 'E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM',
  code_challenge_method: 'S256',
}
const [key, another, certificate] = await Promise.all([
  createAssertionKey('one', 'ES256'),
  createAssertionKey('another', 'EdDSA'),
  certify('/CN=bank'),
])
const bank = serviceWith('bank', key.jwk, {
  grant_types: ['client_credentials', 'authorization_code'],
  redirect_uris: [REDIRECT_URI],
  jwks: { keys: [key.jwk, another.jwk] },
})
const settings = {
  OIDC_CIBA: true,
  CLIENT_CERTIFICATE_HEADER: 'Client-Cert',
  TRUSTED_PROXIES: '127.0.0.1',
}
const shown = { 'client-cert': asPem(certificate) }
const seed = { scopes: [{ name: 'read' }], users: [], clients: [bank] }

describe.each([
  ['fapi-2.0,fapi-ciba', bank],
  ['fapi-ciba,fapi-2.0', { ...bank, profile: 'oauth-2.1' }],
])('OIDC_PROFILE=%s', async (OIDC_PROFILE, client) => {
  const server = await startServer({ ...settings, OIDC_PROFILE }, { seed: { ...seed, clients: [client] } })
  const proven = async (by = key, claims: object = {}) => ({
    client_assertion_type: ASSERTION_TYPE,
    client_assertion: await assertionOf(by, bank.client_id, server.url, claims),
  })

  test.each([
    ['as both have it', {}, key, 200],
    ['to the token endpoint, which fapi-2.0 has not', { aud: '/token' }, key, 401],
    ['to a list, which fapi-2.0 has not', { aud: [''] }, key, 401],
    ['by EdDSA, which fapi-ciba has not', {}, another, 401],
  ])('an assertion %s', async (_how, { aud }: { aud?: string | string[] }, by, status) => {
    const absolute = [aud ?? ''].flat().map((path) => server.url + path)
    const proof = await proven(by, { aud: Array.isArray(aud) ? absolute : absolute[0] })
    const told = await server.post('/token', { grant_type: 'client_credentials', ...proof }, shown)
    expect(told.status).toBe(status)
  })

  test.each([
    ['as both have it', {}, key, 201],
    ['for more than an hour', { exp: inSeconds(3700) }, key, 400],
    ['by EdDSA, which fapi-ciba has not', {}, another, 400],
  ])('a request object %s', async (_how, claims, by, status) => {
    const request = await requestObject(by, bank.client_id, server.url, { ...CHALLENGE, ...claims })
    const pushed = await server.post('/par', { client_id: bank.client_id, request, ...(await proven()) })
    expect(pushed.status).toBe(status)
  })

  test.each([
    ['ES256', 201],
    ['ES512, which fapi-2.0 has not', 400],
  ])('a proof by %s', async (how, status) => {
    const dpop = await prove(await createDpopKey(how.slice(0, 5)), {
      method: 'POST',
      url: `${server.url}/par`,
    })
    const asked = { response_type: 'code', scope: 'openid', redirect_uri: REDIRECT_URI, ...CHALLENGE }
    expect((await server.post('/par', { ...asked, ...(await proven()) }, { dpop })).status).toBe(status)
  })
})
