/** Clients that do not prove who they are, or are another. */
import { expect } from 'vitest'
import { signedRequest, PATH } from '../../../support/ciba.ts'
import { expectError } from '../../fapi/back-channel.ts'
import { ask, fetchTokens, poll, request, send, use, usualOf } from '../back-channel.ts'
import type { CibaChecks } from '../plan.ts'

export const authentication = {
  async '-ensure-wrong-auth-req-id-in-token-endpoint-request'(suite) {
    const asked = await ask(suite)
    await expectError(await poll(suite, asked, { client: suite.second }), 400, 'invalid_grant')
    await expectError(await poll(suite, asked), 400, 'authorization_pending')
  },
  async '-ensure-different-client-id-and-issuer-in-backchannel-authorization-request'(suite) {
    const { first, second, server } = suite
    const signed = await signedRequest(first.key, first.client_id, server.url, usualOf(suite))
    const how = { client: second, certificate: first }
    await expectError(await send(suite, PATH, { request: signed }, how), 401, 'invalid_client')
  },
  async '-ensure-wrong-client-id-in-token-endpoint-request'(suite) {
    const { first, second } = suite
    const asked = await ask(suite)
    await expectError(await poll(suite, asked, { client: second, certificate: first }), 401, 'invalid_client')
  },
  async '-ensure-wrong-client-id-in-backchannel-authorization-request'(suite) {
    const { first, second } = suite
    const how = { client: second, certificate: first, signer: first.key }
    await expectError(await request(suite, {}, how), 401, 'invalid_client')
  },
  async '-ensure-without-client-assertion-in-token-endpoint-request'(suite) {
    const asked = await ask(suite)
    await expectError(await poll(suite, asked, { assertion: null }), 401, 'invalid_client')
  },
  async '-ensure-without-client-assertion-in-backchannel-authorization-request'(suite) {
    await expectError(await request(suite, {}, { assertion: null }), 401, 'invalid_client')
  },
  async '-ensure-client-assertion-signature-algorithm-in-backchannel-authorization-request-is-RS256-fails'(
    suite,
  ) {
    const how = { assertion: { by: suite.first.weak } }
    await expectError(await request(suite, {}, how), 401, 'invalid_client')
  },
  async '-ensure-client-assertion-signature-algorithm-in-token-endpoint-request-is-RS256-fails'(suite) {
    const asked = await ask(suite)
    await expectError(
      await poll(suite, asked, { assertion: { by: suite.first.weak } }),
      401,
      'invalid_client',
    )
  },
  async '-ensure-client-assertion-with-iss-aud-to-token-endpoint-succeeds'(suite) {
    const asked = await ask(suite)
    const how = { assertion: { claims: { aud: suite.server.url } } }
    await expectError(await poll(suite, asked, how), 400, 'authorization_pending')
    // CIBA §7.1: each of the three names the server.
    const { mtls_endpoint_aliases: aliases = {} } = suite.metadata
    expect(aliases).toHaveProperty('backchannel_authentication_endpoint')
    // The Foundation's suite names the addresses by which it shows its certificate.
    for (const aud of [
      suite.server.url,
      `${suite.server.url}/token`,
      ...Object.values(aliases).filter((one) => /\/(?:token|backchannel-authentication)$/.test(String(one))),
    ])
      await ask(suite, {}, { assertion: { claims: { aud } } })
  },
  async '-ensure-mtls-holder-of-key-required'(suite) {
    const asked = await ask(suite)
    const { access_token: token } = await fetchTokens(suite, asked)
    for (const certificate of [null, suite.second]) await expectRefusedUse(suite, token!, certificate)
    const other = await ask(suite)
    const refused = await poll(suite, other, { certificate: null })
    const isMtls = suite.authentication === 'mtls'
    await expectError(refused, isMtls ? 401 : 400, isMtls ? 'invalid_client' : 'invalid_request')
  },
} satisfies CibaChecks

async function expectRefusedUse(...[suite, token, certificate]: Parameters<typeof use>): Promise<void> {
  const status = await use(suite, token, certificate)
  if (status !== 401) throw new Error(`the API took the token of another: ${status}`)
}
