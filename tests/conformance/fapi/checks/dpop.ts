/** Proofs of possession by DPoP (RFC 9449): what is accepted of them, what is not, and codes that are bound by them. */
import { exportJWK } from 'jose'
import { expect } from 'vitest'
import { createDpopKey, prove, type ProofOptions } from '../../../support/dpop.ts'
import { encode } from '../../../support/forged-jwts.ts'
import { expectError, use } from '../back-channel.ts'
import type { FapiChecks } from '../plan.ts'
import {
  ask,
  authenticate,
  getCode,
  getToken,
  presentCode,
  push,
  referenceIn,
  requestToken,
} from '../relying-party.ts'
import { API, thumbprintOf, type FapiSuite } from '../suite.ts'

type Made = Partial<ProofOptions>
const stranger = await createDpopKey()
const rsa = await createDpopKey('RS256')
const now = (): number => Math.floor(Date.now() / 1000)

/** With such a proof wherever one is due: where the request is pushed, for the token, and at the API. */
async function expectAccepted(suite: FapiSuite, made: () => Made): Promise<void> {
  if (!suite.isOwn) {
    const asked = ask(suite)
    await referenceIn(suite, asked, await push(suite, asked, { proof: made() }))
  }
  const response = await requestToken(suite, { proof: made() })
  expect(response.status).toBe(200)
  const { access_token: token } = (await response.json()) as { access_token: string }
  expect((await use(suite, token, { proof: made() })).status).toBe(200)
}

/** What is wrong with a proof for the API. */
const BAD: [string, Made][] = [
  ['no typ', { header: { typ: undefined } }],
  ['no jwk', { header: { jwk: undefined } }],
  ['no jti', { claims: { jti: undefined } }],
  ['no htm', { claims: { htm: undefined } }],
  ['no htu', { claims: { htu: undefined } }],
  ['no iat', { claims: { iat: undefined } }],
  ['no ath', { claims: { ath: undefined } }],
  ['another typ', { header: { typ: 'JWT' } }],
  ['another htm', { method: 'PUT' }],
  ['another htu', { url: 'https://suite.example/accounts' }],
  ['iat of in an hour', { claims: { iat: now() + 3600 } }],
  ['iat of an hour ago', { claims: { iat: now() - 3600 } }],
  ['another ath', { claims: { ath: 'fUHyO2r2Z3DZ53EsNrWBb0xWXoaNy59IiKCAqksmQEo' } }],
]

export const dpop = {
  'check-dpop-proof-nbf-exp': async (suite) =>
    expectAccepted(suite, () => ({ claims: { nbf: now(), exp: now() + 300 } })),

  'ensure-dpopproof-with-iat-10seconds-before-succeeds': async (suite) =>
    expectAccepted(suite, () => ({ claims: { iat: now() - 10 } })),

  'ensure-dpopproof-with-iat-10seconds-after-succeeds': async (suite) =>
    expectAccepted(suite, () => ({ claims: { iat: now() + 10 } })),

  'ensure-mismatched-dpop-jkt-fails': async (suite) => {
    const asked = ask(suite, { dpop_jkt: stranger.thumbprint })
    await expectError(await push(suite, asked, { proof: {} }), 400, 'invalid_request', 'invalid_dpop_proof')
  },

  'ensure-token-endpoint-fails-with-mismatched-dpop-proof-jkt': async (suite) => {
    const asked = ask(suite)
    const callback = await getCode(suite, asked, { proof: {} })
    await expectError(
      await presentCode(suite, asked, callback, { proof: { by: stranger } }),
      400,
      'invalid_grant',
    )
    // Nothing was spent by that.
    expect((await presentCode(suite, asked, callback)).status).toBe(200)
  },

  'ensure-token-endpoint-fails-with-mismatched-dpop-jkt': async (suite) => {
    const asked = ask(suite, { dpop_jkt: stranger.thumbprint })
    await expectError(await presentCode(suite, asked, await getCode(suite, asked)), 400, 'invalid_grant')
  },

  'ensure-dpopproof-at-par-endpoint-binding-success': async (suite) => {
    const { tokens } = await authenticate(suite, ask(suite), { proof: {} })
    expect((await use(suite, tokens.access_token)).status).toBe(200)
  },

  'ensure-dpop-auth-code-binding-success': async (suite) => {
    const asked = ask(suite, { dpop_jkt: await thumbprintOf(suite.first.dpopKey) })
    const { tokens } = await authenticate(suite, asked, { proof: {} })
    expect((await use(suite, tokens.access_token)).status).toBe(200)
  },

  'dpop-negative-tests': async (suite) => {
    const token = await getToken(suite)
    const { dpopKey } = suite.first
    const url = `${suite.server.url}${API}`
    const proof = async (made: Made = {}, by = dpopKey) => prove(by, { method: 'GET', url, token, ...made })
    const status = async (dpop: string) =>
      (await use(suite, token, { proof: null, headers: { dpop } })).status
    const [head, body, signature] = (await proof()).split('.') as [string, string, string]
    const header = JSON.parse(Buffer.from(head, 'base64url').toString()) as object
    const forged: Record<string, string> = {
      'two proofs': `${await proof()}, ${await proof()}`,
      'no JWT': 'not.a-jwt',
      'no alg': [encode({ ...header, alg: undefined }), body, signature].join('.'),
      'alg none': [encode({ ...header, alg: 'none' }), body, ''].join('.'),
      RS256: await proof({}, rsa),
      'another signature': [head, body, (await proof()).split('.')[2]].join('.'),
      'the private key in it': await proof({ header: { jwk: await exportJWK(dpopKey.privateKey) } }),
      'another key': await proof({}, stranger),
    }
    for (const [what, made] of BAD) forged[what] = await proof(made)
    for (const [what, one] of Object.entries(forged)) expect([what, await status(one)]).toEqual([what, 401])

    const once = await proof()
    expect([await status(once), await status(once)]).toEqual([200, 401])
    const good = {
      'a query and a fragment': await proof({ url: `${url}?foo=bar#fragment` }),
      'more members': await proof({ header: { more: 1 }, claims: { more: { than: 'that' } } }),
      'the address in capitals': await proof({ url: url.replace('http://', 'HTTP://') }),
    }
    for (const [what, one] of Object.entries(good)) expect([what, await status(one)]).toEqual([what, 200])
    expect((await use(suite, token, { query: '?foo=bar' })).status).toBe(200)

    expect((await use(suite, token, { proof: null })).status).toBe(401)
    expect((await use(suite, token, { proof: null, scheme: 'Bearer' })).status).toBe(401)
    expect((await use(suite, token, { scheme: 'Bearer' })).status).toBe(401)
    expect((await use(suite, token)).status).toBe(200)
  },
} satisfies FapiChecks
