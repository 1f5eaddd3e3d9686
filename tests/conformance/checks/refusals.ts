/** Requests that must not be answered as they stand: redirect URIs that nobody registered, and request objects. */
import { createServer } from 'node:http'
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { UnsecuredJWT } from 'jose'
import { expect } from 'vitest'
import type { UserAgent } from '../../support/user-agent.ts'
import type { Checks } from '../plan.ts'
import {
  addressOf,
  authenticate,
  authenticationRequest,
  errorIn,
  expectErrorPage,
  type AuthenticationRequest,
} from '../relying-party.ts'
import { CALLBACK, type Suite } from '../suite.ts'

/** All that look like the registered one to somebody: a path more or less, another case, another spelling. */
const UNREGISTERED = [
  `${CALLBACK}/x1Y2z3W4v5`, `${CALLBACK}/`, `${CALLBACK}?`, `${CALLBACK}?foo=bar`, `${CALLBACK}#`,
  `${CALLBACK}_invalid`, CALLBACK.slice(0, -1), CALLBACK.replace('callback', 'Callback'),
  CALLBACK.replace('suite.', 'SUITE.'), CALLBACK.replace('https', 'http'), CALLBACK.replace('.example', '.example:443'),
  CALLBACK.replace('.example', '.example:8443'), CALLBACK.replace('.example', '.example.'),
  CALLBACK.replace('//', '//user@'), CALLBACK.replace('/test', '/x/../test'), CALLBACK.replace('/test', '/%74est'),
  CALLBACK.replace('/test', '//test'), CALLBACK.replace('/test', '\\test'), `${CALLBACK} `, ` ${CALLBACK}`,
  `${CALLBACK}%00`, 'https://evil.example/', '//suite.example/', 'javascript:alert(1)', 'x',
] // prettier-ignore

/** The request as an unsigned object, beside the parameters that have to stand outside it too (Core §6.1). */
function requestObject(request: AuthenticationRequest): { outside: AuthenticationRequest; jwt: string } {
  const { client_id, response_type, scope, redirect_uri } = request as Record<string, string>
  const outside = { client_id, response_type, scope, redirect_uri } as AuthenticationRequest
  return { outside, jwt: new UnsecuredJWT({ ...request }).encode() }
}

/** What would be answered with a code at once if the parameter were ignored. */
async function signedIn(suite: Suite): Promise<UserAgent> {
  return (await authenticate(suite)).agent
}

export const refusals = {
  'oidcc-ensure-registered-redirect-uri': async (suite) => {
    const agent = await signedIn(suite)
    for (const redirect_uri of [...UNREGISTERED, undefined]) {
      for (const more of [{}, { prompt: 'none' }, { response_type: 'token' }]) {
        const request = authenticationRequest(suite, { ...more, redirect_uri })
        expectErrorPage(await agent.get(addressOf(suite, request)))
      }
    }
    const registered = authenticationRequest(suite)
    const twice = `${addressOf(suite, registered)}&redirect_uri=${encodeURIComponent(CALLBACK)}`
    expectErrorPage(await agent.get(twice))
    const unknown = authenticationRequest(suite, { client_id: 'nobody' })
    expectErrorPage(await agent.get(addressOf(suite, unknown)), 'invalid_client')
  },

  'oidcc-unsigned-request-object-supported-correctly-or-rejected-as-unsupported': async (suite) => {
    expect(suite.metadata.request_parameter_supported).toBe(true)
    expect(suite.metadata['request_object_signing_alg_values_supported']).not.toContain('none')
    const agent = await signedIn(suite)
    const request = authenticationRequest(suite)
    const { outside, jwt } = requestObject(request)
    // As the suite sends it: `state` and `response_mode` only inside, and read there for the answer's sake.
    const page = await agent.get(addressOf(suite, { ...outside, request: jwt }))
    expect(errorIn(suite, page, request)).toBe('request_not_supported')
    for (const value of ['garbage', `${jwt}x`, Buffer.from('{"a":').toString('base64url')]) {
      const refused = await agent.get(addressOf(suite, { ...request, request: value }))
      expect(errorIn(suite, refused, request)).toBe('invalid_request_object')
    }
  },

  'oidcc-request-uri-unsigned-supported-correctly-or-rejected-as-unsupported': async (suite) => {
    expect(suite.metadata.request_uri_parameter_supported).toBe(true)
    expect(suite.metadata['require_request_uri_registration']).toBe(true)
    const agent = await signedIn(suite)
    const request = authenticationRequest(suite)
    let fetched = 0
    const host = createServer((_request, response) => {
      fetched++
      response.end(requestObject(request).jwt)
    }).listen(0, '127.0.0.1')
    await once(host, 'listening')
    try {
      const request_uri = `http://127.0.0.1:${(host.address() as AddressInfo).port}/request.jwt`
      const page = await agent.get(addressOf(suite, { ...request, request_uri }))
      expect(errorIn(suite, page, request)).toBe('request_uri_not_supported')
      expect(fetched).toBe(0)
    } finally {
      host.close()
    }
  },

  'oidcc-ensure-request-object-with-redirect-uri': async (suite) => {
    const agent = await signedIn(suite)
    const { outside, jwt } = requestObject(authenticationRequest(suite))
    const elsewhere = { ...outside, redirect_uri: `${CALLBACK}_invalid` }
    expectErrorPage(await agent.get(addressOf(suite, { ...elsewhere, request: jwt })))
    // Nor may the object lead anybody astray.
    const request = authenticationRequest(suite)
    const astray = requestObject({ ...request, redirect_uri: 'https://evil.example/' }).jwt
    const page = await agent.get(addressOf(suite, { ...request, request: astray }))
    expect(errorIn(suite, page, request)).toBe('request_not_supported')
  },
} satisfies Checks
