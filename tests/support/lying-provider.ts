/** An OpenID provider that says what it is told to, under whatever key: for what an honest one never answers. */
import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { calculateJwkThumbprint, exportJWK, generateKeyPair, SignJWT, UnsecuredJWT } from 'jose'
import { atEndOfFile } from './cleanup.ts'

export interface Lie {
  /** Laid over the claims of an honest ID token. */
  claims?: Record<string, unknown>
  /** Signed by a key that is not published, by the client's secret, or by none. */
  signedBy?: 'another key' | 'the secret' | 'nobody'
  /** Of the token endpoint. */
  status?: number
  userinfo?: Record<string, unknown>
  /** Laid over its metadata. */
  metadata?: Record<string, unknown>
}

export interface LyingProvider {
  readonly issuer: string
  /** Requests at the token endpoint. */
  readonly asked: () => number
  /** What the answers to this code are; the honest ones are about `sub`. */
  tell(sub: string, nonce: string, lie?: Lie, code?: string): void
}

interface Told {
  sub: string
  nonce: string
  lie: Lie
}

export async function startLyingProvider(clientId: string, clientSecret: string): Promise<LyingProvider> {
  const [own, other] = [await generateKeyPair('RS256', { extractable: true }), await generateKeyPair('RS256')]
  const jwk = { ...(await exportJWK(own.publicKey)), alg: 'RS256', use: 'sig' }
  const kid = await calculateJwkThumbprint(jwk)
  const byCode = new Map<string, Told>()
  let told: Told = { sub: '', nonce: '', lie: {} }
  let asked = 0
  let issuer = ''

  async function idToken({ sub, nonce, lie }: Told): Promise<string> {
    const now = Math.floor(Date.now() / 1000)
    const claims = { iss: issuer, aud: clientId, sub, nonce, iat: now, exp: now + 60, ...lie.claims }
    if (lie.signedBy === 'nobody') return new UnsecuredJWT(claims).encode()
    if (lie.signedBy === 'the secret')
      return new SignJWT(claims)
        .setProtectedHeader({ alg: 'HS256' })
        .sign(new TextEncoder().encode(clientSecret))
    const key = lie.signedBy === 'another key' ? other : own
    return new SignJWT(claims).setProtectedHeader({ alg: 'RS256', kid }).sign(key.privateKey)
  }

  async function answer(request: IncomingMessage): Promise<readonly [number, object]> {
    const { url = '' } = request
    const { lie } = told
    if (url.endsWith('/openid-configuration'))
      return [
        200,
        {
          issuer,
          authorization_endpoint: `${issuer}/authorize`,
          token_endpoint: `${issuer}/token`,
          jwks_uri: `${issuer}/jwks`,
          userinfo_endpoint: `${issuer}/userinfo`,
          id_token_signing_alg_values_supported: ['RS256'],
          ...lie.metadata,
        },
      ]
    if (url === '/jwks') return [200, { keys: [{ ...jwk, kid }] }]
    if (url === '/userinfo') {
      const code = String(request.headers.authorization).slice('Bearer '.length)
      const of = byCode.get(code) ?? told
      return [200, { sub: of.sub, ...of.lie.userinfo }]
    }
    asked++
    const code = new URLSearchParams(await text(request)).get('code') ?? ''
    const of = byCode.get(code) ?? told
    if (of.lie.status !== undefined) return [of.lie.status, { error: 'server_error' }]
    return [200, { access_token: code, token_type: 'Bearer', expires_in: 60, id_token: await idToken(of) }]
  }

  const listener = createServer((request: IncomingMessage, response: ServerResponse) => {
    void answer(request).then(([status, body]) =>
      response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body)),
    )
  })
  listener.listen(0, '127.0.0.1')
  await once(listener, 'listening')
  issuer = `http://127.0.0.1:${(listener.address() as AddressInfo).port}`
  atEndOfFile(async () => {
    listener.closeAllConnections()
    listener.close()
  })
  return {
    issuer,
    asked: () => asked,
    tell(sub, nonce, lie = {}, code = 'c') {
      told = { sub, nonce, lie }
      byCode.set(code, told)
    },
  }
}
