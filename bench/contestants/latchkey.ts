// Owns Latchkey's place in the comparison: what is asked of it. It enters twice: as it is by default, and with the
// switch that lets jose sign access tokens, so that one run shows what the switch is worth.

import {
  documentRows,
  scope,
  toBody,
  type Algorithm,
  type Entry,
  type Format,
  type Row,
} from '../contestant.ts'
import { assertChecksSecret, assertJwt, assertRefusesStranger, form, mint } from '../requests.ts'
import type { User } from '../user-client.ts'
import { userRows } from '../user-rows.ts'
import { startLatchkey, userClient, type Client, type Started } from './latchkey-server.ts'

export const latchkey: Entry = {
  name: 'latchkey',
  enter: async (ground) => {
    const { repeatedTokens, freshTokens } = ground
    const server = await startLatchkey(ground, 'latchkey', {})
    const { port } = server
    const client = await server.createClient('jwt')
    const opaqueClient = await server.createClient('opaque')

    const [token = ''] = await mint(port, '/token', grantFor(client), 1)
    const wrong = { ...client, client_secret: 'wrong' }
    await assertJwt(port, '/jwks', token)
    await assertChecksSecret(port, '/token', grantFor(wrong))
    await assertChecksSecret(port, '/introspect', ask(wrong, token))
    await assertRefusesStranger(port, '/introspect', ask(client, 'forged'))
    const user = await server.createUser('bench')

    return {
      ...server,
      rows: [
        ...documentRows({ label: 'Latchkey' }, `http://127.0.0.1:${port}`, {
          discovery: '/.well-known/openid-configuration',
          jwks: '/jwks',
        }),
        tokenRow('Latchkey, JWT', 'jwt', client),
        tokenRow('Latchkey, opaque', 'opaque', opaqueClient),
        introspectionRow('Latchkey, JWT', port, 'jwt', client, repeatedTokens),
        introspectionRow('Latchkey, JWT', port, 'jwt', client, freshTokens),
        introspectionRow('Latchkey, opaque', port, 'opaque', opaqueClient, repeatedTokens),
        ...(await rowsOfUser(server, user, 'jwt', 'ES256', [repeatedTokens, freshTokens])),
        ...(await rowsOfUser(server, user, 'jwt', 'RS256', [])),
        ...(await rowsOfUser(server, user, 'opaque', 'ES256', [repeatedTokens])),
      ],
    }
  },
}

export const latchkeyByJose: Entry = {
  name: 'signing-by-jose',
  enter: async (ground) => {
    const server = await startLatchkey(ground, 'signing_by_jose', { OIDC_SIGN_SYNCHRONOUSLY: 'false' })
    const client = await server.createClient('jwt')
    return { ...server, rows: [tokenRow('Latchkey, JWT, OIDC_SIGN_SYNCHRONOUSLY=false', 'jwt', client)] }
  },
}

export async function rowsOfUser(
  server: Started,
  user: User,
  format: Format,
  algorithm: Algorithm,
  userinfoTokens: number[],
): Promise<Row[]> {
  return userRows({
    label: `Latchkey, ${format === 'jwt' ? 'JWT' : 'opaque'}`,
    format,
    algorithm,
    client: userClient(server, await server.createWebClient(format, algorithm), user),
    jwksPath: '/jwks',
    userinfoPath: '/userinfo',
    userinfoTokens,
  })
}

export function tokenRow(label: string, format: Format, client: Client): Row {
  return {
    endpoint: 'client_credentials',
    label,
    format,
    path: '/token',
    order: 'repeated',
    requests: async () => [toBody(grantFor(client))],
    expectation: { tokens: ['access_token'] },
  }
}

export function introspectionRow(
  label: string,
  port: number,
  format: Format,
  client: Client,
  count: number,
): Row {
  return {
    endpoint: 'introspection',
    label: format === 'jwt' ? `${label}, ${count} tokens in turn` : label,
    format,
    path: '/introspect',
    order: 'repeated',
    requests: async () =>
      (await mint(port, '/token', grantFor(client), count)).map((token) => toBody(ask(client, token))),
    expectation: { values: { active: true } },
  }
}

function grantFor({ client_id, client_secret }: Client): string {
  return form({ grant_type: 'client_credentials', client_id, client_secret, scope })
}

function ask({ client_id, client_secret }: Client, token: string): string {
  return form({ client_id, client_secret, token, token_type_hint: 'access_token' })
}
