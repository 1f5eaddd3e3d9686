/** What a fuzz run shows that is signed, or bound: good ones, and such as are signed well and say something else. */
import fc from 'fast-check'
import { certify, createAuthority, asPem, asByteSequence } from './certificates.ts'
import { ASSERTION_TYPE, assertionOf, createAssertionKey } from './client-assertions.ts'
import { GRANT_TYPE as CIBA } from './ciba.ts'
import { GRANT_TYPE as DEVICE } from './device.ts'
import { createDpopKey, prove } from './dpop.ts'
import { ACCESS_TOKEN, GRANT as EXCHANGE } from './exchange.ts'
import { type Draft, draft, encoded } from './fuzz-request.ts'
import { requestObject, signingApp } from './request-objects.ts'
import { basic } from './requests.ts'
import type { TestServer } from './server.ts'
import { ALICE, authorize, REDIRECT_URI, WEB } from './sign-in.ts'
import { GRANT as JWT_BEARER, said } from './trusted-issuer.ts'

const BOOKS = 'https://books.example/'
const ISSUER = 'https://issuer.example'
/** Made ahead of each ground, of each kind: as many things that a signed claim or header can be. */
const SPOILT = 8
const [keys, proofKey, authority] = [await createAssertionKey(), await createDpopKey(), await createAuthority('Clients')] // prettier-ignore
const certificate = await certify('/CN=certified', { issuer: authority })

const grants = {
  grant_types: ['authorization_code', 'client_credentials', EXCHANGE, JWT_BEARER, DEVICE, CIBA],
  scope: ['read_books'],
}
const KEYED = signingApp('keyed', keys, {
  ...grants,
  client_secret: undefined,
  token_endpoint_auth_method: 'private_key_jwt',
})
const BRINGING = {
  ...WEB,
  ...grants,
  client_id: 'bringing',
  token_exchange: [{ subject_clients: [WEB.client_id], resources: [BOOKS] }],
}
const CERTIFIED = { client_id: 'certified', token_endpoint_auth_method: 'tls_client_auth', tls_client_auth_subject_dn: 'CN=certified', tls_client_certificate_bound_access_tokens: true, grant_types: ['client_credentials'], scope: ['read_books'] } // prettier-ignore

export const PROVEN = {
  clients: [KEYED, BRINGING, CERTIFIED],
  trusted_issuers: [
    { issuer: ISSUER, jwks: { keys: [keys.jwk] }, scopes: ['read_books'], subject_claim: 'email' },
  ],
}
export const CERTIFICATES = {
  CLIENT_CERTIFICATE_HEADER: 'client-cert',
  CLIENT_CERTIFICATE_AUTHORITIES: authority.files.cert,
}

const MEMBERS = ['iss', 'sub', 'aud', 'jti', 'exp', 'nbf', 'iat', 'htm', 'htu', 'ath', 'nonce', 'client_id', 'scope', 'claims', 'redirect_uri', 'response_type', 'max_age', 'authorization_details', 'resource', 'cnf', 'act', '__proto__'] // prettier-ignore
const HEADERS = ['typ', 'kid', 'jwk', 'jku', 'x5c', 'cty', 'zip', 'b64']
const overlay = fc
  .tuple(fc.constantFrom(...MEMBERS), fc.constantFrom(...HEADERS), fc.jsonValue({ maxDepth: 3 }), fc.nat(3))
  .map(([claim, header, value, which]) => (which > 0 ? [{ [claim]: value }, {}] : [{}, { [header]: value }]))

/** Each time other ones. */
let seed = 1

type Make = (claims?: object, header?: object) => Promise<string>

/** One that is good, and some that are signed as well. */
async function made(make: Make): Promise<string[]> {
  const others = fc
    .sample(overlay, { numRuns: SPOILT, seed: seed++ })
    .map(async ([claims, header]) => make(claims, header).catch(() => 'a.b.c'))
  return Promise.all([make(), ...others])
}

const posts = (
  path: string,
  all: readonly { fields: Record<string, string>; headers?: Record<string, string> }[],
): Draft[] =>
  all.map(({ fields, headers = {} }) =>
    draft({ method: 'POST', path, fields: encoded(Object.entries(fields)), headers }),
  )

const ASKED = { redirect_uri: REDIRECT_URI, response_type: 'code', scope: 'openid' }
const CREDENTIALS = { grant_type: 'client_credentials' }
const BRINGS = basic(BRINGING.client_id, WEB.client_secret)

/** What is signed for the server at `url`, as forms or headers. */
function signersFor(url: string) {
  const proof = (method: string, path: string, token?: string) => async (claims: object = {}, header: object = {}) =>
    prove(proofKey, { method, url: url + path, token, header: { ...header }, claims: { ...claims } })
  const assertion: Make = async (claims, header) => assertionOf(keys, KEYED.client_id, url, claims, header)
  const by = (client_assertion: string) => ({ client_assertion, client_assertion_type: ASSERTION_TYPE })
  return {
    proof,
    own: async () => (await made(assertion)).map(by),
    another: async () => by(await assertion()),
    objects: async () => made(async (claims, header) => requestObject(keys, KEYED.client_id, url, claims, header)),
    foreign: async () => made(async (claims, header) => said(keys, ISSUER, url, claims, header)),
  }
} // prettier-ignore

type Of = (server: TestServer, path: string, access_token: string) => Promise<Draft[]>
const OWN_REQUESTS: Of = async ({ url }, path, token) =>
  posts(
    path,
    (await signersFor(url).own()).map((one) => ({ fields: { token, ...one } })),
  )
const OWN_QUESTIONS: Of = async ({ url }, path) =>
  posts(
    path,
    (await signersFor(url).own()).map((one) => ({
      fields: { scope: 'openid', login_hint: ALICE.username, ...one },
    })),
  )

/** By the path that takes them. */
const PATHS: Readonly<Record<string, Of>> = {
  '/introspect': OWN_REQUESTS,
  '/revoke': OWN_REQUESTS,
  '/device_authorization': OWN_QUESTIONS,
  '/backchannel-authentication': OWN_QUESTIONS,
  async '/authorize'({ url }, path) {
    const objects = await signersFor(url).objects()
    return objects.map((request) => draft({ path, query: encoded(Object.entries({ client_id: KEYED.client_id, request })) }))
  },
  async '/par'({ url }, path) {
    const { own, another, objects } = signersFor(url)
    const pushed = (await objects()).map(async (request) => ({ fields: { request, ...(await another()) } }))
    return posts(path, [...(await own()).map((one) => ({ fields: { ...ASKED, ...one } })), ...(await Promise.all(pushed))])
  },
  async '/userinfo'(server, path) {
    const { url } = server
    const { proof } = signersFor(url)
    const code = (await authorize(server, { client_id: BRINGING.client_id })).get('code')!
    const form = { grant_type: 'authorization_code', code, redirect_uri: REDIRECT_URI }
    const response = await server.post('/token', form, { ...BRINGS, dpop: await proof('POST', '/token')() })
    const { access_token } = (await response.json()) as { access_token: string }
    const shown = await made(proof('GET', path, access_token))
    return shown.map((dpop) => draft({ path, headers: { authorization: `DPoP ${access_token}`, dpop } }))
  },
  async '/token'({ url }, path, subject_token) {
    const { proof, own, foreign } = signersFor(url)
    const byCertificate = { fields: { ...CREDENTIALS, client_id: CERTIFIED.client_id } }
    return posts(path, [
      ...(await own()).map((one) => ({ fields: { ...CREDENTIALS, ...one } })),
      ...(await made(proof('POST', path))).map((dpop) => ({ fields: CREDENTIALS, headers: { ...BRINGS, dpop } })),
      ...(await foreign()).map((assertion) => ({ fields: { grant_type: JWT_BEARER, assertion, scope: 'read_books' }, headers: BRINGS })),
      { fields: { grant_type: EXCHANGE, subject_token, subject_token_type: ACCESS_TOKEN, resource: BOOKS }, headers: BRINGS },
      ...[asPem(certificate), asByteSequence(certificate)].map((shown) => ({ ...byCertificate, headers: { 'client-cert': shown } })),
    ])
  },
} // prettier-ignore

/** Requests of clients that prove themselves so, where `path` is one that takes them. */
export async function proofsAt(server: TestServer, path: string, access_token: string): Promise<Draft[]> {
  return (await PATHS[path]?.(server, path, access_token)) ?? []
}
