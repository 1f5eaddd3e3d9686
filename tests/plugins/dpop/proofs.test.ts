/** DPoP proofs by every point of RFC 9449 §4.3, at the token endpoint and with a token; and what else is forged of a JWT. */
import { exportJWK } from 'jose'
import { describe, expect, test } from 'vitest'
import { createClient, getToken } from '../../support/clients.ts'
import { createDpopKey, type DpopKey, prove, type ProofOptions } from '../../support/dpop.ts'
import { forgeriesOf } from '../../support/forged-jwts.ts'
import { sendRaw } from '../../support/raw-http.ts'
import { bearer } from '../../support/requests.ts'
import { startServer } from '../../support/server.ts'
import { KeyObject } from 'node:crypto'

const server = await startServer(
  {},
  {
    extend(app) {
      app.get('/books', { config: { scope: 'read' } }, async ({ token }) => ({ reader: token.subject }))
    },
  },
)
const client = await createClient(server, { scope: ['read'] })
const [mine, thiefs] = [await createDpopKey(), await createDpopKey()]
const privateJwk = await exportJWK(mine.privateKey)
const TOKEN = `${server.url}/token`
const BOOKS = `${server.url}/books`

interface Answer {
  readonly status: number
  readonly body: Readonly<Record<string, unknown>>
  readonly challenge: string | null
}

async function answered(responding: Promise<Response>): Promise<Answer> {
  const response = await responding
  const body = (await response.json()) as Record<string, unknown>
  return { status: response.status, body, challenge: response.headers.get('www-authenticate') }
}

const ask = async (dpop: string): Promise<Answer> =>
  answered(server.post('/token', { grant_type: 'client_credentials' }, { ...client.basic, dpop }))
const present = async (token: string, dpop: string, scheme = 'DPoP'): Promise<Answer> =>
  answered(server.get('/books', { authorization: `${scheme} ${token}`, dpop }))

type Made = Partial<ProofOptions>
const forToken = async (made: Made = {}, key = mine): Promise<string> =>
  prove(key, { method: 'POST', url: TOKEN, ...made })
const forBooks = async (token: string, made: Made = {}, key = mine): Promise<string> =>
  prove(key, { method: 'GET', url: BOOKS, token, ...made })

async function boundToken(key = mine): Promise<string> {
  const { status, body } = await ask(await forToken({}, key))
  expect([status, body['token_type']]).toEqual([200, 'DPoP'])
  return String(body['access_token'])
}

const at = (seconds: number): Made => ({ claims: { iat: Math.floor(Date.now() / 1000) + seconds } })
const REFUSED: [string, Made][] = [
  ['without htm', { claims: { htm: undefined } }],
  ['of another method', { method: 'PUT' }],
  ['of the same method in another case', { claims: { htm: 'post' } }],
  ['without htu', { claims: { htu: undefined } }],
  ['for another host', { url: 'https://other.example/token' }],
  ['for another scheme', { url: TOKEN.replace('http:', 'https:') }],
  ['for another port', { url: 'http://127.0.0.1:1/token' }],
  ['for another path', { url: `${server.url}/other` }],
  ['for the origin', { url: server.url }],
  ['for a path alone', { url: '/token' }],
  ['for an address with a name and a password', { url: TOKEN.replace('://', '://a:b@') }],
  ['for an address with line breaks', { url: TOKEN.replace('token', 'to\nken') }],
  ['for an address with backslashes', { url: TOKEN.replaceAll('/', '\\') }],
  ['for an address that is no text', { claims: { htu: [TOKEN] } }],
  ['without iat', { claims: { iat: undefined } }],
  ['whose iat is a text', { claims: { iat: String(Math.floor(Date.now() / 1000)) } }],
  ['of an hour ago', at(-3600)],
  ['of in an hour', at(3600)],
  ['of two minutes ago', at(-120)],
  ['of in a minute', at(61)],
  ['that has expired', { claims: { exp: Math.floor(Date.now() / 1000) - 60 } }],
  ['that is not good yet', { claims: { nbf: Math.floor(Date.now() / 1000) + 60 } }],
  ['without jti', { claims: { jti: undefined } }],
  ['with an empty jti', { claims: { jti: '' } }],
  ['with a jti that is no text', { claims: { jti: 5 } }],
  ['with a jti that is too long', { claims: { jti: 'x'.repeat(257) } }],
  ['that is too long', { claims: { more: 'x'.repeat(8192) } }],
  ['with a nonce that is no text', { claims: { nonce: 5 } }],
  ['without typ', { header: { typ: undefined } }],
  ['of another typ', { header: { typ: 'JWT' } }],
  ['of typ at+jwt', { header: { typ: 'at+jwt' } }],
  ['without jwk', { header: { jwk: undefined } }],
  ['whose jwk is a text', { header: { jwk: JSON.stringify(mine.jwk) } }],
  ['whose jwk is a list', { header: { jwk: [mine.jwk] } }],
  ['with the private key in it', { header: { jwk: privateJwk } }],
  ['with a secret in it', { header: { jwk: { kty: 'oct', k: 'c2VjcmV0' } } }],
  ['with another key in it', { header: { jwk: thiefs.jwk } }],
  ['with a key off its curve', { header: { jwk: { ...mine.jwk, x: mine.jwk.y, y: mine.jwk.x } } }],
  ['with a key of another curve', { header: { jwk: { ...mine.jwk, crv: 'P-384' } } }],
  ['with a key for encryption', { header: { jwk: { ...mine.jwk, use: 'enc' } } }],
  ['with a key for another algorithm', { header: { jwk: { ...mine.jwk, alg: 'ES384' } } }],
]

describe.each(REFUSED)('a proof %s', (_what, made) => {
  test('gets no token', async () => {
    const { status, body } = await ask(await forToken(made))
    expect([status, body['error']]).toEqual([400, 'invalid_dpop_proof'])
    expect(body['error_description']).toMatch(/^The DPoP proof (?!was used before)/)
  })
  test('takes no token anywhere', async () => {
    const token = await boundToken()
    const own = { ...made, ...(made.url === TOKEN ? { url: BOOKS } : {}) }
    const { status, body, challenge } = await present(token, await forBooks(token, own))
    expect([status, body['error']]).toEqual([401, 'invalid_dpop_proof'])
    expect(challenge).toMatch(/^DPoP realm="[^"]+", algs="ES256 [^"]+", error="invalid_dpop_proof", /)
  })
})

test('no forgery of a JWT passes for a proof', async () => {
  const good = await forToken()
  const key = { privateKey: KeyObject.from(mine.privateKey), publicJwk: mine.jwk }
  const forgeries = await forgeriesOf(good, key, ['jti', 'htm', 'htu', 'iat'])
  // What does not matter to a proof, whose key is in its header and whose type is this.
  const harmless = new Set([
    'an unknown kid',
    'no kid',
    'typ dpop+jwt',
    'another issuer',
    'an issuer with a slash more',
    // Signed by the key that it names: a proof of somebody else's.
    'an embedded jwk',
    'an embedded jwk without kid',
  ])
  for (const [name, forged] of Object.entries(forgeries).filter(([one]) => !harmless.has(one)))
    expect([name, await ask(forged)]).toMatchObject([
      name,
      { status: 400, body: { error: 'invalid_dpop_proof' } },
    ])
  expect((await ask(good)).status).toBe(200)
})

test.each([
  ['10 s old', at(-10)],
  ['10 s ahead', at(10)],
  ['for the address with a query and a fragment', { url: `${TOKEN}?a=b#c` }],
  ['for the address in capitals', { url: TOKEN.replace('http', 'HTTP') }],
  ['for the address with escapes that are not needed', { url: TOKEN.replace('token', '%74oken') }],
  ['for the address with dots', { url: TOKEN.replace('token', 'a/../token') }],
  ['with claims of its own', { claims: { more: { than: ['needed'] } } }],
  ['with a kid', { header: { kid: 'x' } }],
  ['good yet and still', { claims: { nbf: Date.now() / 1000 - 5, exp: Date.now() / 1000 + 60 } }],
] as [string, Made][])('a proof %s is good', async (_what, made) => {
  expect(await ask(await forToken(made))).toMatchObject({ status: 200, body: { token_type: 'DPoP' } })
})

test('a query of the request is no part of its address either', async () => {
  const token = await boundToken()
  const dpop = await forBooks(token)
  const response = await server.get('/books?page=2', { authorization: `DPoP ${token}`, dpop })
  expect(response.status).toBe(200)
})

test('a path with a slash more is an address of its own', async () => {
  const withSlash = await server.post(
    '/token/',
    { grant_type: 'client_credentials' },
    {
      ...client.basic,
      dpop: await forToken({ url: `${TOKEN}/` }),
    },
  )
  expect(withSlash.status).toBe(200)
})

test.each(['ES256', 'ES384', 'ES512', 'Ed25519', 'EdDSA', 'PS256', 'PS384', 'PS512'])(
  'a key for %s binds tokens',
  async (algorithm) => {
    const key = await createDpopKey(algorithm)
    const token = await boundToken(key)
    expect((await server.server.oauth.verify(token))?.claims.cnf).toEqual({ jkt: key.thumbprint })
    expect((await present(token, await forBooks(token, {}, key))).status).toBe(200)
  },
)

test.each(['RS256', 'RS512'])('a key for %s does not', async (algorithm) => {
  const { status, body } = await ask(await forToken({}, await createDpopKey(algorithm)))
  expect([status, body['error']]).toEqual([400, 'invalid_dpop_proof'])
})

test('an RSA key is of 2048 to 8192 bits, and its exponent short', async () => {
  const key = await createDpopKey('PS256')
  for (const jwk of [
    { ...key.jwk, n: key.jwk.n!.slice(0, 171) },
    { ...key.jwk, n: 'A'.repeat(1400) },
    { ...key.jwk, e: 'A'.repeat(340) },
  ])
    expect(await ask(await forToken({ header: { jwk } }, key))).toMatchObject({ status: 400 })
})

test('two headers, one with two proofs, an empty one and what is no JWT are refused', async () => {
  const [one, other] = [await forToken(), await forToken()]
  for (const dpop of [`${one}, ${other}`, `${one},`, '', ' ', 'x', 'a.b.c', `${one}.x`, `${one}\tx`])
    expect([dpop, await ask(dpop)]).toMatchObject([
      dpop,
      { status: 400, body: { error: 'invalid_dpop_proof' } },
    ])
  const form = 'grant_type=client_credentials'
  const lines = [
    'POST /token HTTP/1.1',
    `host: ${new URL(server.url).host}`,
    `authorization: ${client.basic.authorization}`,
    'content-type: application/x-www-form-urlencoded',
    `content-length: ${form.length}`,
    `dpop: ${one}`,
    `dpop: ${other}`,
  ]
  const { status, body } = await sendRaw(server.url, `${lines.join('\r\n')}\r\n\r\n${form}`)
  expect([status, body]).toEqual([400, expect.stringContaining('invalid_dpop_proof')])
  // Neither was used by that.
  expect([(await ask(one)).status, (await ask(other)).status]).toEqual([200, 200])
})

test('a request line with an address of its own is of another address', async () => {
  const form = 'grant_type=client_credentials'
  const lines = [
    'POST http://elsewhere.example/token HTTP/1.1',
    `host: ${new URL(server.url).host}`,
    `authorization: ${client.basic.authorization}`,
    'content-type: application/x-www-form-urlencoded',
    `content-length: ${form.length}`,
  ]
  for (const url of [TOKEN, 'http://elsewhere.example/token']) {
    const dpop = `dpop: ${await forToken({ url })}`
    const { status, body } = await sendRaw(server.url, `${[...lines, dpop].join('\r\n')}\r\n\r\n${form}`)
    expect([status, body]).toEqual([400, expect.stringContaining('invalid_dpop_proof')])
  }
})

test('a proof is good once', async () => {
  const proof = await forToken()
  expect((await ask(proof)).status).toBe(200)
  expect(await ask(proof)).toMatchObject({
    status: 400,
    body: { error: 'invalid_dpop_proof', error_description: 'The DPoP proof was used before' },
  })
  const token = await boundToken()
  const shown = await forBooks(token)
  expect((await present(token, shown)).status).toBe(200)
  expect(await present(token, shown)).toMatchObject({ status: 401, body: { error: 'invalid_dpop_proof' } })
})

test('two keys may have the same jti', async () => {
  const claims = { jti: 'the same' }
  expect((await ask(await forToken({ claims }))).status).toBe(200)
  expect((await ask(await forToken({ claims }, thiefs))).status).toBe(200)
  expect((await ask(await forToken({ claims }))).status).toBe(400)
})

test('ath: a proof is for one token', async () => {
  const [token, another] = [await boundToken(), await boundToken()]
  for (const made of [{ token: another }, { claims: { ath: undefined } }, { claims: { ath: 5 } }] as Made[])
    expect(await present(token, await forBooks(token, made))).toMatchObject({
      status: 401,
      body: { error: 'invalid_dpop_proof' },
    })
})

test('stolen, a token is good for nobody, and its holder hears which scheme it has', async () => {
  const token = await boundToken()
  const byThief = await forBooks(token, {}, thiefs)
  expect(await present(token, byThief)).toMatchObject({ status: 401, body: { error: 'invalid_token' } })
  const asBearer = await present(token, await forBooks(token), 'Bearer')
  expect(asBearer).toMatchObject({ status: 401, body: { error: 'invalid_token' } })
  // RFC 9449 §7.2.
  expect(asBearer.challenge).toMatch(
    /^Bearer realm="[^"]+", error="invalid_token", [^,]+, scope="read", [^,]+, DPoP realm="[^"]+", algs="ES256 [^"]+", scope="read", /,
  )
  const bare = await answered(server.get('/books', { authorization: `DPoP ${token}` }))
  expect(bare).toMatchObject({
    status: 401,
    body: { error: 'invalid_dpop_proof', error_description: 'The DPoP proof is missing' },
  })
  for (const scheme of ['dpop', 'DPOP', 'dPoP'])
    expect((await present(token, await forBooks(token), scheme)).status).toBe(200)
})

test('a token that is bound to nothing is refused under DPoP, with whatever proof', async () => {
  const { access_token: token } = await getToken(server, client)
  expect(await present(token, await forBooks(token))).toMatchObject({
    status: 401,
    body: { error: 'invalid_token' },
  })
  expect((await server.get('/books', bearer(token))).status).toBe(200)
  // Beside a bearer token, a proof means nothing.
  expect((await present(token, 'x', 'Bearer')).status).toBe(200)
})

test('what is refused before it is spent may come again', async () => {
  const token = await boundToken()
  const proof = await forBooks(token)
  const stranger: DpopKey = thiefs
  const another = await boundToken(stranger)
  expect((await present(another, proof)).status).toBe(401)
  expect((await present(token, proof)).status).toBe(200)
})

test('without a token, both schemes are offered', async () => {
  const { status, headers } = await server.get('/books')
  expect([status, headers.get('www-authenticate')]).toEqual([
    401,
    expect.stringMatching(/^Bearer realm=[^,]+, .*, DPoP realm="[^"]+", algs="ES256 ES384/),
  ])
})
