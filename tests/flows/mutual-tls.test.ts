/**
 * FAPI 2.0 by mTLS, as `openid-client` speaks it, unmodified: the connection itself shows the certificate, by which the app is proven and to
 * which its tokens are bound, through the nginx of docs/client-certificates.md.
 */
import { readFile } from 'node:fs/promises'
import { request as send } from 'node:https'
import { buffer } from 'node:stream/consumers'
import { decodeJwt } from 'jose'
import * as openid from 'openid-client'
import { expect, test } from 'vitest'
import { certify, createAuthority, jwkOf, type TestCertificate } from '../support/certificates.ts'
import { createCertificate } from '../support/deployed.ts'
import { nginx, startNginx } from '../support/nginx.ts'
import { startServer } from '../support/server.ts'
import { freePort } from '../support/settings.ts'
import { ALICE, goThrough, REDIRECT_URI } from '../support/sign-in.ts'
import { createUserAgent } from '../support/user-agent.ts'

const SCOPES = [{ name: 'read_books' }]

test.skipIf(nginx.absent)(
  'openid-client with mTLS, by which it is proven and its tokens are bound',
  async () => {
    const authority = await createAuthority('Clients')
    const [issued, selfSigned, stranger, tls] = [
      await certify('/O=Example/CN=issued', { issuer: authority }),
      await certify('/CN=alone'),
      await certify('/O=Example/CN=issued'),
      await createCertificate('localhost'),
    ]
    const [port, plain] = [await freePort(), await freePort()]
    const origin = `https://localhost:${port}`
    const base = {
      redirect_uris: [REDIRECT_URI],
      scope: ['read_books'],
      tls_client_certificate_bound_access_tokens: true,
    }
    const clients = [
      {
        ...base,
        client_id: 'issued',
        token_endpoint_auth_method: 'tls_client_auth',
        tls_client_auth_subject_dn: 'CN=issued,O=Example',
      },
      {
        ...base,
        client_id: 'alone',
        token_endpoint_auth_method: 'self_signed_tls_client_auth',
        jwks: { keys: [jwkOf(selfSigned)] },
      },
    ]
    const behind = await startServer(
      {
        PORT: plain,
        OIDC_PROFILE: 'fapi-2.0',
        CLIENT_CERTIFICATE_HEADER: 'Client-Cert',
        CLIENT_CERTIFICATE_AUTHORITIES: authority.files.cert,
        TRUSTED_PROXIES: '127.0.0.1',
        OIDC_MTLS_ORIGIN: origin,
      },
      { seed: { users: [ALICE], scopes: SCOPES, clients } },
    )
    await startNginx(
      `server {
      listen 127.0.0.1:${port} ssl;
      server_name localhost;
      ssl_certificate ${tls.certificate};
      ssl_certificate_key ${tls.key};
      ssl_verify_client optional_no_ca;
      location / {
        proxy_pass http://127.0.0.1:${plain};
        proxy_set_header Host $host;
        proxy_set_header X-Forwarded-For $remote_addr;
        proxy_set_header X-Forwarded-Proto https;
        proxy_set_header Client-Cert $ssl_client_escaped_cert;
      }
    }`,
      port,
    )
    const ca = await readFile(tls.certificate)
    /** What `fetch` has no way to do: shows this certificate. */
    const fetchWith =
      (shown: TestCertificate): openid.CustomFetch =>
      async (url, { method, headers, body }) => {
        return new Promise((resolve, reject) => {
          const by = { ca, cert: shown.cert, key: shown.key, agent: false }
          const sent = send(url, { method, headers, ...by }, (response) => {
            const told = { status: response.statusCode!, headers: response.headers as Record<string, string> }
            void buffer(response).then((bytes) => resolve(new Response(new Uint8Array(bytes), told)), reject)
          })
          sent.on('error', reject)
          sent.end(body === undefined || body === null ? undefined : String(body as URLSearchParams))
        })
      }

    for (const [client_id, mine] of [
      ['issued', issued],
      ['alone', selfSigned],
    ] as const) {
      const metadata = { id_token_signed_response_alg: 'ES256', use_mtls_endpoint_aliases: true }
      const execute = [openid.allowInsecureRequests]
      const at = new URL(behind.url)
      const config = await openid.discovery(at, client_id, metadata, openid.TlsClientAuth(), { execute })
      expect(config.serverMetadata()['mtls_endpoint_aliases']).toMatchObject({
        token_endpoint: `${origin}/token`,
      })
      config[openid.customFetch] = fetchWith(mine)
      const pkceCodeVerifier = openid.randomPKCECodeVerifier()
      const address = await openid.buildAuthorizationUrlWithPAR(config, {
        redirect_uri: REDIRECT_URI,
        scope: 'openid read_books',
        code_challenge: await openid.calculatePKCECodeChallenge(pkceCodeVerifier),
        code_challenge_method: 'S256',
      })
      const agent = createUserAgent(behind.url)
      const page = await goThrough(agent, await agent.get(address))
      const back = new URL(page.headers.get('location')!)
      config[openid.customFetch] = fetchWith(stranger)
      await expect(openid.authorizationCodeGrant(config, back, { pkceCodeVerifier })).rejects.toMatchObject({
        status: 401,
      })
      config[openid.customFetch] = fetchWith(mine)
      const tokens = await openid.authorizationCodeGrant(config, back, { pkceCodeVerifier })
      const thumbprint = Buffer.from(mine.x509.fingerprint256.replaceAll(':', ''), 'hex').toString(
        'base64url',
      )
      expect(decodeJwt(tokens.access_token)['cnf']).toEqual({ 'x5t#S256': thumbprint })
      const { sub } = tokens.claims()!
      expect(await openid.fetchUserInfo(config, tokens.access_token, sub)).toMatchObject({ sub })
      config[openid.customFetch] = fetchWith(stranger)
      await expect(openid.fetchUserInfo(config, tokens.access_token, sub)).rejects.toMatchObject({
        status: 401,
      })
      config[openid.customFetch] = fetchWith(mine)
      const renewed = await openid.refreshTokenGrant(config, tokens.refresh_token!)
      expect(decodeJwt(renewed.access_token)['cnf']).toEqual({ 'x5t#S256': thumbprint })
    }
  },
)
