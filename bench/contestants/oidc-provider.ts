// Owns the peer's place in the comparison: servers/oidc-provider.ts, started, and what is asked of it. It neither
// introspects its JWT access tokens nor takes them at userinfo, so these are measured with its opaque ones.

import { randomBytes } from 'node:crypto'
import { fileURLToPath } from 'node:url'
import {
  documentRows,
  scope,
  toBody,
  type Algorithm,
  type Contestant,
  type Entry,
  type Format,
  type Row,
} from '../contestant.ts'
import { assertedTokenRow, jwks } from '../assertions.ts'
import { boundTokenRow } from '../dpop.ts'
import { assertChecksSecret, assertJwt, assertRefusesStranger, form, mint } from '../requests.ts'
import { freePort, startServer } from '../server-process.ts'
import { redirectUri, signIn, userClaims, userScope, type UserClient } from '../user-client.ts'
import { userRows } from '../user-rows.ts'

const script = fileURLToPath(new URL('../servers/oidc-provider.ts', import.meta.url))
const introspection = '/token/introspection'

export const oidcProvider: Entry = {
  name: 'oidc-provider',
  enter: async ({ nodeArgs, createDatabase, repeatedTokens }): Promise<Contestant> => {
    const port = await freePort()
    const secret = randomBytes(32).toString('base64url')
    const env = {
      NODE_ENV: 'production',
      DATABASE_URL: await createDatabase('oidc_provider'),
      CLIENT_SECRET: secret,
      CLIENT_JWKS: JSON.stringify(jwks),
      SCOPE: scope,
      USER_SCOPE: userScope,
      REDIRECT_URI: redirectUri,
      CLAIMS: JSON.stringify(userClaims),
    }
    const server = await startServer({ args: [...nodeArgs, script], port, env, readyPath: '/jwks' })

    const grant = (client_id: string, client_secret = secret) =>
      form({ grant_type: 'client_credentials', client_id, client_secret, scope })
    const ask = (token: string, client_secret = secret) =>
      form({ client_id: 'opaque', client_secret, token, token_type_hint: 'access_token' })
    const [jwt = ''] = await mint(port, '/token', grant('jwt'), 1)
    const [opaque = ''] = await mint(port, '/token', grant('opaque'), 1)
    await assertJwt(port, '/jwks', jwt)
    await assertChecksSecret(port, '/token', grant('jwt', 'wrong'))
    await assertChecksSecret(port, introspection, ask(opaque, 'wrong'))
    await assertRefusesStranger(port, introspection, ask('forged'))

    const signedIn = await signIn(clientAt(port, secret, 'web-opaque'))
    const introspectionRow = (
      holder: 'user' | 'client',
      label: string,
      tokens: () => Promise<string[]>,
    ): Row => ({
      endpoint: 'introspection',
      label,
      format: 'opaque',
      holder,
      baseline: 'peer',
      path: introspection,
      order: 'repeated',
      requests: async () => (await tokens()).map((token) => toBody(ask(token))),
      expectation: { values: { active: true } },
    })

    return {
      ...server,
      rows: [
        ...documentRows({ label: 'oidc-provider', baseline: 'peer' }, `http://127.0.0.1:${port}`, {
          discovery: '/.well-known/openid-configuration',
          jwks: '/jwks',
        }),
        {
          endpoint: 'client_credentials',
          label: 'oidc-provider, JWT',
          format: 'jwt',
          baseline: 'peer',
          path: '/token',
          order: 'repeated',
          requests: async () => [toBody(grant('jwt'))],
          expectation: { tokens: ['access_token'] },
        },
        {
          endpoint: 'client_credentials',
          label: 'oidc-provider, opaque',
          format: 'opaque',
          baseline: 'peer',
          path: '/token',
          order: 'repeated',
          requests: async () => [toBody(grant('opaque'))],
          expectation: { tokens: ['access_token'] },
        },
        boundTokenRow({ label: 'oidc-provider, JWT', baseline: 'peer' }, port, grant('jwt')),
        assertedTokenRow({ label: 'oidc-provider, JWT', baseline: 'peer' }, port, 'signing', scope),
        introspectionRow('user', 'oidc-provider, opaque', async () =>
          signedIn.getAccessTokens(repeatedTokens),
        ),
        introspectionRow('client', 'oidc-provider, opaque, of clients for themselves', async () =>
          mint(port, '/token', grant('opaque'), repeatedTokens),
        ),
        ...(await rowsOfUser(port, secret, 'web-jwt', 'jwt', 'ES256', [])),
        ...(await rowsOfUser(port, secret, 'web-jwt-RS256', 'jwt', 'RS256', [])),
        ...(await rowsOfUser(port, secret, 'web-opaque', 'opaque', 'ES256', [repeatedTokens])),
      ],
    }
  },
}

async function rowsOfUser(
  port: number,
  clientSecret: string,
  clientId: string,
  format: Format,
  algorithm: Algorithm,
  userinfoTokens: number[],
): Promise<Row[]> {
  const client = clientAt(port, clientSecret, clientId)
  return userRows({
    label: `oidc-provider, ${format === 'jwt' ? 'JWT' : 'opaque'}`,
    format,
    algorithm,
    baseline: 'peer',
    client,
    jwksPath: '/jwks',
    userinfoPath: '/me',
    userinfoTokens,
  })
}

function clientAt(port: number, clientSecret: string, clientId: string): UserClient {
  return {
    port,
    clientId,
    clientSecret,
    authorizePath: '/auth',
    codePath: '/token',
    pushPath: '/request',
    refreshPath: '/token',
    user: { username: 'bench', password: 'any' },
  }
}
