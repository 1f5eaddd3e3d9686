// Owns Latchkey's place in the comparison: what is asked of it. It enters as it is by default; with the switch that lets jose
// sign access tokens, so that one run shows what the switch is worth; and with the one that lets clients introspect
// tokens that they got for themselves.

import {
  documentRows,
  scope,
  toBody,
  type Algorithm,
  type Entry,
  type Format,
  type Row,
} from '../contestant.ts'
import { assertedTokenRow } from '../assertions.ts'
import { boundTokenRow } from '../dpop.ts'
import { assertChecksSecret, assertJwt, assertRefusesStranger, form, mint } from '../requests.ts'
import { signIn, type User, type UserClient } from '../user-client.ts'
import { userRows } from '../user-rows.ts'
import { startLatchkey, toldOfClients, userClient, type Client, type Started } from './latchkey-server.ts'

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
    // A checkout from before there was private_key_jwt registers none.
    const signing = await server.createSigningClient().catch(() => undefined)
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
        boundTokenRow({ label: 'Latchkey, JWT' }, port, grantFor(client)),
        ...(signing ? [assertedTokenRow({ label: 'Latchkey, JWT' }, port, signing.client_id, scope)] : []),
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

export const latchkeyToldOfClients: Entry = {
  name: 'told-of-clients',
  enter: async (ground) => {
    const { repeatedTokens, freshTokens } = ground
    const server = await startLatchkey(ground, 'told_of_clients', toldOfClients)
    const client = await server.createClient('jwt')
    const opaqueClient = await server.createClient('opaque')
    return {
      ...server,
      rows: [
        introspectionRow('Latchkey, JWT', server.port, 'jwt', client, repeatedTokens),
        introspectionRow('Latchkey, JWT', server.port, 'jwt', client, freshTokens),
        introspectionRow('Latchkey, opaque', server.port, 'opaque', opaqueClient, repeatedTokens),
      ].map((row) => ({ ...row, label: `${row.label}, of clients for themselves (see below)` })),
    }
  },
}

export async function rowsOfUser(
  server: Started,
  user: User,
  format: Format,
  algorithm: Algorithm,
  tokensInTurn: number[],
): Promise<Row[]> {
  const client = userClient(server, await server.createWebClient(format, algorithm), user)
  const rows = await userRows({
    label: `Latchkey, ${nameOf(format)}`,
    format,
    algorithm,
    client,
    jwksPath: '/jwks',
    userinfoPath: '/userinfo',
    userinfoTokens: tokensInTurn,
  })
  return [...rows, ...(await introspectionOfUser(server, format, client, tokensInTurn))]
}

function nameOf(format: Format): string {
  return format === 'jwt' ? 'JWT' : 'opaque'
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

/** By the client that got the tokens, for itself; see `toldOfClients`. */
export function introspectionRow(
  label: string,
  port: number,
  format: Format,
  client: Client,
  count: number,
): Row {
  const tokens = async () => mint(port, '/token', grantFor(client), count)
  return introspection({ label, format, holder: 'client' }, client, count, tokens, { active: true })
}

/** By an API, of tokens that a user gave to an app: what introspection is for, and what it tells of by default. */
async function introspectionOfUser(
  server: Started,
  format: Format,
  web: UserClient,
  counts: readonly number[],
): Promise<Row[]> {
  if (counts.length === 0) return []
  const api = await server.createApi(web)
  const signedIn = await signIn(web)
  const what = { label: `Latchkey, ${nameOf(format)}`, format, holder: 'user' } as const
  const told = { active: true, client_id: web.clientId }
  return counts.map((count) =>
    introspection(what, api, count, async () => signedIn.getAccessTokens(count), told),
  )
}

function introspection(
  { label, format, holder }: Required<Pick<Row, 'label' | 'format' | 'holder'>>,
  caller: Client,
  count: number,
  tokens: () => Promise<string[]>,
  values: Record<string, unknown>,
): Row {
  return {
    endpoint: 'introspection',
    label: format === 'jwt' ? `${label}, ${count} tokens in turn` : label,
    format,
    holder,
    path: '/introspect',
    order: 'repeated',
    requests: async () => (await tokens()).map((token) => toBody(ask(caller, token))),
    expectation: { values },
  }
}

function grantFor({ client_id, client_secret }: Client): string {
  return form({ grant_type: 'client_credentials', client_id, client_secret, scope })
}

function ask({ client_id, client_secret }: Client, token: string): string {
  return form({ client_id, client_secret, token, token_type_hint: 'access_token' })
}
