/** Requests that must not be answered as they stand, and what stands outside of them. */
import * as oauth from 'oauth4webapi'
import { expect } from 'vitest'
import { CALLBACK } from '../../suite.ts'
import { expectErrorPage } from '../../relying-party.ts'
import { expectError } from '../back-channel.ts'
import type { FapiChecks } from '../plan.ts'
import { ask, authenticate, callbackIn, comeBack, push } from '../relying-party.ts'
import type { FapiSuite } from '../suite.ts'

/** Refused where it is pushed; the person never sees it. */
async function expectPushRefused(
  suite: FapiSuite,
  parameters: Record<string, string | undefined>,
  ...errors: string[]
) {
  await expectError(await push(suite, ask(suite, parameters)), 400, ...errors)
}

async function expectResponseTypeRefused(suite: FapiSuite, response_type: string): Promise<void> {
  await expectPushRefused(
    suite,
    { response_type },
    'unsupported_response_type',
    'unauthorized_client',
    'invalid_request',
  )
}

export const requests = {
  'ensure-different-nonce-inside-and-outside-request-object': async (suite) => {
    const asked = ask(suite)
    const { tokens } = await authenticate(suite, asked, { more: { nonce: 'outside' } })
    expect(oauth.getValidatedIdTokenClaims(tokens)!['nonce']).toBe(asked.request['nonce'])
  },

  'ensure-different-state-inside-and-outside-request-object': async (suite) => {
    const asked = ask(suite)
    const page = await comeBack(suite, asked, { more: { state: 'outside' } })
    expect((await callbackIn(suite, asked, page)).get('state')).toBe(asked.request['state'])
  },

  'state-only-outside-request-object-not-used': async (suite) => {
    const asked = ask(suite, { state: undefined })
    const { callback } = await authenticate(suite, asked, { more: { state: 'outside' } })
    expect(callback.has('state')).toBe(false)
  },

  'ensure-request-object-without-redirect-uri-fails': async (suite) =>
    expectPushRefused(suite, { redirect_uri: undefined }, 'invalid_request'),

  'ensure-redirect-uri-in-authorization-request': async (suite) =>
    expectPushRefused(suite, { redirect_uri: undefined }, 'invalid_request'),

  'plain-fapi-tolerate-unregistered-redirect-uri': async (suite) => {
    for (const redirect_uri of [
      `${CALLBACK}/x1y2z3`,
      `${CALLBACK}?foo=bar`,
      'https://evil.example/',
      'http://127.0.0.1/',
    ])
      await expectPushRefused(suite, { redirect_uri }, 'invalid_request')
  },

  'ensure-unsigned-authorization-request-without-using-par-fails': async (suite) => {
    await authenticate(suite)
    const { request } = ask(suite, { response_mode: undefined })
    const query = new URLSearchParams(request)
    const page = await suite.agent.get(`${suite.metadata.authorization_endpoint!}?${query.toString()}`)
    const { origin, searchParams } = new URL(page.headers.get('location')!)
    expect([origin, searchParams.get('error'), searchParams.get('state')]).toEqual([
      new URL(CALLBACK).origin,
      'invalid_request',
      request['state'],
    ])
    // Where it says nothing of its own, nobody is sent anywhere.
    const elsewhere = new URLSearchParams({ ...request, redirect_uri: 'https://evil.example/' })
    expectErrorPage(
      await suite.agent.get(`${suite.metadata.authorization_endpoint!}?${elsewhere.toString()}`),
    )
  },

  'ensure-response-type-code-idtoken-fails': async (suite) =>
    expectResponseTypeRefused(suite, 'code id_token'),

  'ensure-response-type-token-fails': async (suite) => expectResponseTypeRefused(suite, 'token'),
} satisfies FapiChecks
