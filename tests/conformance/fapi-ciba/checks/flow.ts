/** Requests that are good, and what becomes of them. */
import { decodeJwt, decodeProtectedHeader } from 'jose'
import { expect } from 'vitest'
import { pageOf } from '../../../support/ciba.ts'
import { expectError } from '../../fapi/back-channel.ts'
import { PERSON } from '../../suite.ts'
import { ask, awaitPing, decide, fetchTokens, pingsOf, poll, request, send, use } from '../back-channel.ts'
import type { CibaChecks } from '../plan.ts'
import { SCOPE } from '../suite.ts'

/** `potentially-bad-binding-message` of the suite is of this kind: long, with emoji. */
const BAD_MESSAGE = `1234 \u{1F44D}\u{1F3FF} 品川 ${'Lorem ipsum dolor sit amet, '.repeat(16)}`

export const flow = {
  async ''(suite) {
    const asked = await ask(suite)
    await expectError(await poll(suite, asked), 400, 'authorization_pending')
    await expectError(await poll(suite, asked), 400, 'slow_down')
    const tokens = await fetchTokens(suite, asked)
    expect(pingsOf(suite, asked)).toBe(suite.mode === 'ping' ? 1 : 0)
    const claims = decodeJwt(tokens['id_token']!)
    expect(claims).toMatchObject({ iss: suite.server.url, aud: suite.first.client_id })
    expect(claims).toHaveProperty('at_hash')
    for (const absent of ['c_hash', 's_hash']) expect(claims).not.toHaveProperty(absent)
    expect(decodeProtectedHeader(tokens['id_token']!)).toMatchObject({
      alg: expect.stringMatching(/^(?:PS|ES)256$/),
      kid: expect.any(String),
    })
    expect(Number(tokens['expires_in'])).toBeGreaterThan(0)
    expect(await use(suite, tokens['access_token']!)).toBe(200)
  },
  async '-discovery-end-point-verification'({ metadata, server, mode, authentication }) {
    expect(metadata).toMatchObject({
      backchannel_authentication_endpoint: `${server.url}/backchannel-authentication`,
      backchannel_user_code_parameter_supported: expect.any(Boolean),
      tls_client_certificate_bound_access_tokens: true,
    })
    const member = (name: string): readonly string[] =>
      (metadata as unknown as Record<string, readonly string[]>)[name] ?? []
    expect(member('backchannel_token_delivery_modes_supported')).toContain(mode)
    expect(member('backchannel_token_delivery_modes_supported')).not.toContain('push')
    expect(member('grant_types_supported')).toContain('urn:openid:params:grant-type:ciba')
    expect(member('backchannel_authentication_request_signing_alg_values_supported').toSorted()).toEqual([
      'ES256',
      'PS256',
    ])
    expect(member('id_token_signing_alg_values_supported')).toEqual(expect.arrayContaining(['ES256']))
    expect(member('token_endpoint_auth_signing_alg_values_supported').toSorted()).toEqual(['ES256', 'PS256'])
    expect(member('token_endpoint_auth_methods_supported')).toContain(
      authentication === 'mtls' ? 'tls_client_auth' : 'private_key_jwt',
    )
  },
  async '-user-rejects-authentication'(suite) {
    const asked = await ask(suite)
    await decide(suite, asked, 'deny')
    await awaitPing(suite, asked)
    await expectError(await poll(suite, asked), 400, 'access_denied')
  },
  async '-multiple-call-to-token-endpoint'(suite) {
    const asked = await ask(suite)
    for (let calls = 0; calls < 5; calls++)
      await expectError(await poll(suite, asked), 400, 'authorization_pending', 'slow_down')
  },
  async '-auth-req-id-expired'(suite) {
    const asked = await ask(suite, { requested_expiry: 10 })
    expect(asked.expires_in).toBe(10)
    // Ten seconds later.
    await suite.server.database.query(
      `update artifacts set value = jsonb_set(value, '{expiresAt}', '1') where kind = 'ciba' and value->>'id' = $1`,
      [new URL(pageOf(suite.server, asked)).searchParams.get('id')],
    )
    await expectError(await poll(suite, asked), 400, 'expired_token')
  },
  async '-ensure-authorization-request-with-binding-message-succeeds'(suite) {
    const asked = await ask(suite, { binding_message: '1234' })
    const page = await suite.agent.get(pageOf(suite.server, asked))
    const { username, password } = PERSON
    const consent = page.body.includes('id="login"')
      ? await suite.agent.submit(page, 'login', { username, password })
      : page
    expect(consent.body).toMatch(/<strong id="binding-message">(?:<bdi>)?1234</)
    await fetchTokens(suite, asked)
  },
  async '-ensure-other-scope-order-succeeds'(suite) {
    const tokens = await fetchTokens(suite, await ask(suite, { scope: `${SCOPE} openid` }))
    expect(tokens['scope']!.split(' ').toSorted()).toEqual([SCOPE, 'openid'])
  },
  async '-ensure-requested-expiry-as-string-succeeds'(suite) {
    const asked = await ask(suite, { requested_expiry: '30' })
    expect(asked.expires_in).toBe(30)
    await fetchTokens(suite, asked)
  },
  async '-ensure-authorization-request-with-potentially-bad-binding-message'(suite) {
    const response = await request(suite, { binding_message: BAD_MESSAGE })
    await expectError(response, 400, 'invalid_binding_message')
  },
  async '-refresh-token'(suite) {
    const { second } = suite
    const tokens = await fetchTokens(suite, await ask(suite))
    const refresh = async (refresh_token: string, how: object = {}): Promise<Response> =>
      send(suite, '/token', { grant_type: 'refresh_token', refresh_token }, how)
    const refreshed = await refresh(tokens['refresh_token']!)
    expect(refreshed.status).toBe(200)
    const again = (await refreshed.json()) as Record<string, string>
    expect(await use(suite, again['access_token']!)).toBe(200)
    expect(decodeJwt(again['id_token']!).sub).toBe(decodeJwt(tokens['id_token']!).sub)
    const others = await fetchTokens(suite, await ask(suite, {}, { client: second }), { client: second })
    await expectError(await refresh(others['refresh_token']!), 400, 'invalid_grant')
    expect((await refresh(others['refresh_token']!, { client: second })).status).toBe(200)
  },
} satisfies CibaChecks
