/** What may be asked for at /authorize: PKCE without a way down, no token in the front channel, nothing twice. */
import { describe, expect, test } from 'vitest'
import { shownError } from '../support/error-page.ts'
import { LEGAL } from '../support/error-page.ts'
import { basic } from '../support/requests.ts'
import { startServer } from '../support/server.ts'
import {
  authorizationUrl,
  authorize,
  createPkce,
  exchange,
  REDIRECT_URI,
  SEED,
  WEB,
} from '../support/sign-in.ts'

const PUBLIC = { client_id: 'public', token_endpoint_auth_method: 'none', redirect_uris: [REDIRECT_URI] }
const server = await startServer({}, { seed: { ...SEED, clients: [WEB, PUBLIC] } })

/** The error that the client is told by redirect; undefined where the request goes on to a page. */
async function toldError(url: string): Promise<string | undefined> {
  const response = await server.get(url)
  await response.body?.cancel()
  const location = response.headers.get('location')!
  expect([response.status, location]).toEqual([303, expect.stringMatching(/^(?:\/interaction\/[\w-]{43}\?request=[\w.-]+$|https:\/\/app\.example\/callback\?)/)])
  if (location.startsWith('/')) return undefined
  const { error, error_description: description, iss, state, ...rest } = Object.fromEntries(new URL(location).searchParams)
  expect([iss, rest]).toEqual([server.url, {}])
  expect([error, description]).toEqual([expect.stringMatching(LEGAL), expect.stringMatching(LEGAL)])
  expect(state === undefined || state === 'a state').toBe(true)
  return error
} // prettier-ignore

const asking = (parameters: Record<string, string | undefined>): Promise<string | undefined> =>
  toldError(authorizationUrl(server, parameters))

describe('A4: PKCE', () => {
  const { verifier, challenge } = createPkce()
  const S256 = { code_challenge: challenge, code_challenge_method: 'S256' }

  test.each([
    ['absent, of a public client', { client_id: 'public' }],
    ['without a method, which would be plain', { code_challenge: challenge }],
    ['plain', { code_challenge: challenge, code_challenge_method: 'plain' }],
    ['plain, as the verifier itself', { code_challenge: verifier, code_challenge_method: 'plain' }],
    ['S256 in small letters', { ...S256, code_challenge_method: 's256' }],
    ['S512', { ...S256, code_challenge_method: 'S512' }],
    ['none', { ...S256, code_challenge_method: 'none' }],
    ['a method alone', { code_challenge_method: 'S256' }],
    ['an empty challenge', { ...S256, code_challenge: '' }],
    ['too short', { ...S256, code_challenge: challenge.slice(1) }],
    ['too long', { ...S256, code_challenge: `${challenge}A` }],
    ['padded', { ...S256, code_challenge: `${challenge.slice(1)}=` }],
    ['not base64url', { ...S256, code_challenge: `${challenge.slice(1)}+` }],
    ['with a line break', { ...S256, code_challenge: `${challenge}\n` }],
  ] as [string, Record<string, string>][])('a challenge that is %s is invalid_request', async (_name, parameters) => {
    for (const client_id of [parameters['client_id'] ?? 'web', 'public'])
      expect(await asking({ ...parameters, client_id })).toBe('invalid_request')
  })

  test('S256 is good for every client, and a confidential one may leave it out', async () => {
    expect(await asking({ ...S256, client_id: 'public' })).toBeUndefined()
    expect(await asking(S256)).toBeUndefined()
    expect(await asking({})).toBeUndefined()
  })

  test('A5: a challenge wants its verifier, and a verifier its challenge', async () => {
    const other = createPkce().verifier
    const guarded = (await authorize(server, S256)).get('code')!
    const unguarded = (await authorize(server)).get('code')!
    const wrong: Record<string, string>[] = [
      {}, { code_verifier: '' }, { code_verifier: other }, { code_verifier: challenge },
      { code_verifier: verifier.slice(1) }, { code_verifier: verifier.toLowerCase() }, { code_verifier: `${verifier}=` },
      { code_verifier: `${verifier}A` }, { code_verifier: `${verifier} ` },
    ]
    for (const more of wrong) {
      const response = await exchange(server, guarded, more)
      expect([more, response.status, await response.json()]).toMatchObject([more, 400, { error: 'invalid_grant' }])
    }
    for (const code_verifier of [verifier, other]) {
      const response = await exchange(server, unguarded, { code_verifier })
      expect([response.status, await response.json()]).toMatchObject([400, { error: 'invalid_grant' }])
    }
    expect((await exchange(server, guarded, { code_verifier: verifier })).status).toBe(200)
    expect((await exchange(server, unguarded)).status).toBe(200)
  })

  test("the verifier of a public client's code does not make it another client's", async () => {
    const code = (await authorize(server, { ...S256, client_id: 'public' })).get('code')!
    const stolen = await exchange(server, code, { code_verifier: verifier })
    expect([stolen.status, await stolen.json()]).toMatchObject([400, { error: 'invalid_grant' }])
    const form = { grant_type: 'authorization_code', client_id: 'public', code, redirect_uri: REDIRECT_URI }
    expect((await server.post('/token', { ...form, code_verifier: verifier })).status).toBe(200)
  })

  test('what is advertised is what is served', async () => {
    const metadata = (await (await server.get('/.well-known/openid-configuration')).json()) as Record<string, unknown>
    expect(metadata).toMatchObject({
      code_challenge_methods_supported: ['S256'],
      response_types_supported: ['code'],
      authorization_response_iss_parameter_supported: true,
    })
    expect(metadata['grant_types_supported']).not.toContain('implicit')
    expect(metadata['grant_types_supported']).not.toContain('password')
  })
}) // prettier-ignore

test.each([
  'token', 'id_token', 'code token', 'code id_token', 'id_token token', 'code id_token token', 'none', 'Code', 'code ',
  'code code', ' code', 'code,token', '__proto__', 'toString',
])('no token comes by the front channel: response_type %j', async (response_type) => {
  expect(await asking({ response_type, nonce: 'n' })).toBe('unsupported_response_type')
  const fragment = await server.get(authorizationUrl(server, { response_type, response_mode: 'fragment' }))
  const told = new URLSearchParams(new URL(fragment.headers.get('location')!).hash.slice(1))
  expect([...told.keys()].toSorted()).toEqual(['error', 'error_description', 'iss', 'state'])
  expect(told.get('error')).toBe('unsupported_response_type')
}) // prettier-ignore

test('A7: neither the implicit grant nor the password of a user is taken', async () => {
  for (const grant_type of ['implicit', 'password', 'urn:ietf:params:oauth:grant-type:saml2-bearer']) {
    const form = { grant_type, username: 'alice', password: 'correct horse battery staple', scope: 'openid' }
    const response = await server.post('/token', form, basic(WEB.client_id, WEB.client_secret))
    expect([response.status, await response.json()]).toMatchObject([400, { error: 'unsupported_grant_type' }])
  }
})

describe('A11: parameters', () => {
  const NAMES = [
    'response_type', 'response_mode', 'scope', 'state', 'nonce', 'prompt', 'max_age', 'login_hint', 'id_token_hint',
    'claims', 'acr_values', 'ui_locales', 'display', 'code_challenge', 'code_challenge_method', 'unknown',
  ]
  const given = (name: string): string => new URL(authorizationUrl(server)).searchParams.get(name) ?? 'x'

  test.each(NAMES)('%s twice is invalid_request, told to the client', async (name) => {
    const url = new URL(authorizationUrl(server))
    url.searchParams.set(name, given(name))
    for (const again of [given(name), 'another']) {
      const repeated = `${url.href}&${name}=${encodeURIComponent(again)}`
      expect(await toldError(repeated)).toBe('invalid_request')
      const state = new URL((await server.get(repeated)).headers.get('location')!).searchParams.get('state')
      expect(state).toBe(name === 'state' ? null : 'a state')
    }
  })

  test('resource may come again', async () => {
    expect(await toldError(`${authorizationUrl(server)}&resource=${server.url}&resource=${server.url}`)).toBeUndefined()
  })

  test('empty is absent: refused where it is needed, ignored where it is not', async () => {
    for (const name of ['response_type', 'scope'])
      expect([name, await asking({ [name]: '' })]).toEqual([name, await asking({ [name]: undefined })])
    for (const name of NAMES.filter((one) => !['response_type', 'scope'].includes(one)))
      expect([name, await asking({ [name]: '' })]).toEqual([name, undefined])
    expect(await toldError(`${authorizationUrl(server)}&nonce=&nonce=&unknown&&=`)).toBeUndefined()
  })

  test('unknown ones are ignored, whatever they are called', async () => {
    for (const name of ['unknown', '__proto__', 'constructor', 'prototype', 'toString', 'scope[]', 'a[b]', 'nonce.x', 'Scope', '$where'])
      expect([name, await asking({ [name]: 'polluted' })]).toEqual([name, undefined])
    expect(await toldError(`${authorizationUrl(server)}&__proto__[admin]=1&constructor.prototype.admin=1`)).toBeUndefined()
    expect(({} as { admin?: unknown }).admin).toBeUndefined()
  })

  test('a query beside a form is not read', async () => {
    const { search } = new URL(authorizationUrl(server))
    expect(await shownError(server.post(`/authorize${search}`, {}))).toEqual([400, 'invalid_request'])
    const evil = `/authorize?redirect_uri=https://evil.example/&client_id=other`
    const form = Object.fromEntries(new URLSearchParams(search))
    expect((await server.post(evil, form)).headers.get('location')).toMatch(/^\/interaction\//)
  })
}) // prettier-ignore
