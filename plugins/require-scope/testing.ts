// An authorization server for an app's own tests: real keys, real signatures, real HTTP on a loopback port, and the
// faults that an app should survive. It issues whatever it is asked to and must never leave a test.
import { randomUUID } from 'node:crypto'
import { createServer } from 'node:http'
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { SignJWT, exportJWK, generateKeyPair } from 'jose'
import type { CryptoKey, JWK } from 'jose'

export interface TestIssuerOptions {
  /** Signature algorithm of its keys. Default ES256. */
  algorithm?: string | undefined
  /** Path of the issuer, such as `/tenant`. Default none. */
  path?: string | undefined
  /** `max-age` of its JWKS in seconds. Default: the answer does not say. */
  maxAge?: number | undefined
}

export interface TokenOptions {
  /** Default: none. */
  scope?: string | readonly string[] | undefined
  /** Default: the issuer's URL, which is the default of `requireScope` too. */
  audience?: string | readonly string[] | undefined
  /** Default `test-user`. */
  subject?: string | undefined
  /** Default `test-client`. */
  clientId?: string | undefined
  /** Seconds, negative for an expired token. Default 300. */
  expiresIn?: number | undefined
  /** Claims to add or to replace; one that is undefined is left out. */
  claims?: Record<string, unknown> | undefined
  /** Header members to add or to replace; one that is undefined is left out. */
  header?: Record<string, unknown> | undefined
}

/** How an issuer is away: it refuses connections, answers 503, or takes requests and never answers. */
export type Outage = 'refuse' | 'error' | 'hang'

export interface TestIssuer {
  /** Its identifier, for the `issuer` option. */
  readonly url: string
  /** How often it was asked, also while it answered 503 or hung. */
  readonly requests: { metadata: number; jwks: number }
  /** A good access token (RFC 9068), unless its options say otherwise. */
  token(options?: TokenOptions): Promise<string>
  /** Like `token`, under the same key id, but signed by a key of somebody else's. */
  forge(options?: TokenOptions): Promise<string>
  /** Signs with a new key from now on. The old ones stay published, unless `keepOld` is false. Returns the new key id. */
  rotateKeys(options?: { keepOld?: boolean | undefined }): Promise<string>
  goOffline(outage?: Outage): void
  goOnline(): void
  close(): Promise<void>
}

interface TestKey {
  readonly kid: string
  readonly privateKey: CryptoKey
  readonly publicJwk: JWK
}

/** Starts an issuer on a free port of 127.0.0.1. */
export async function createTestIssuer(options: TestIssuerOptions = {}): Promise<TestIssuer> {
  const { algorithm = 'ES256', path = '', maxAge } = options
  let keys = [await createKey(algorithm)]
  const stranger = await createKey(algorithm)
  const requests = { metadata: 0, jwks: 0 }
  let outage: Outage | undefined
  const server = createServer(answer)
  server.on('connection', (socket) => {
    if (outage === 'refuse') socket.destroy()
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const url = origin + path

  function answer(request: IncomingMessage, response: ServerResponse): void {
    const isJwks = request.url === `${path}/jwks`
    const isMetadata =
      request.url === `/.well-known/oauth-authorization-server${path}` ||
      request.url === `${path}/.well-known/openid-configuration`
    if (isJwks) requests.jwks++
    if (isMetadata) requests.metadata++
    if (outage === 'hang') return
    const status = outage === 'error' ? 503 : isJwks || isMetadata ? 200 : 404
    const cacheControl = isJwks && maxAge !== undefined ? { 'cache-control': `max-age=${maxAge}` } : {}
    response.writeHead(status, { 'content-type': 'application/json', ...cacheControl })
    if (status !== 200) response.end('{}')
    else if (isJwks) response.end(JSON.stringify({ keys: keys.map((key) => key.publicJwk) }))
    else response.end(JSON.stringify({ issuer: url, jwks_uri: `${url}/jwks`, response_types_supported: [] }))
  }

  function sign(privateKey: CryptoKey, { header, ...token }: TokenOptions = {}): Promise<string> {
    return new SignJWT(defined({ ...claimsOf(url, token), ...token.claims }))
      .setProtectedHeader({ alg: algorithm, ...defined({ typ: 'at+jwt', kid: keys[0]?.kid, ...header }) })
      .sign(privateKey)
  }

  return {
    url,
    requests,
    token: (token) => sign((keys[0] ?? stranger).privateKey, token),
    forge: (token) => sign(stranger.privateKey, token),
    async rotateKeys({ keepOld = true } = {}) {
      const key = await createKey(algorithm)
      keys = keepOld ? [key, ...keys] : [key]
      return key.kid
    },
    goOffline(kind = 'refuse') {
      outage = kind
      if (kind === 'refuse') server.closeAllConnections()
    },
    goOnline() {
      outage = undefined
    },
    async close() {
      const closed = new Promise((resolve) => server.close(resolve))
      server.closeAllConnections()
      await closed
    },
  }
}

async function createKey(algorithm: string): Promise<TestKey> {
  const { privateKey, publicKey } = await generateKeyPair(algorithm, { extractable: true })
  const kid = randomUUID()
  return { kid, privateKey, publicJwk: { ...(await exportJWK(publicKey)), kid, alg: algorithm, use: 'sig' } }
}

function claimsOf(issuer: string, token: TokenOptions): Record<string, unknown> {
  const iat = Math.floor(Date.now() / 1000)
  const { scope, audience = issuer, subject = 'test-user', clientId = 'test-client', expiresIn = 300 } = token
  return {
    iss: issuer,
    aud: audience,
    sub: subject,
    client_id: clientId,
    iat,
    exp: iat + expiresIn,
    jti: randomUUID(),
    scope: scope === undefined ? undefined : [scope].flat().join(' '),
  }
}

function defined(members: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined))
}
