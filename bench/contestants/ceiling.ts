// Owns the ceiling's place in the comparison: servers/ceiling.ts, started, and what is asked of it.

import { fileURLToPath } from 'node:url'
import {
  documentRows,
  scope,
  toBearer,
  toBody,
  type Contestant,
  type Entry,
  type Row,
} from '../contestant.ts'
import { assertJwt, assertRefusesStranger, form, mint } from '../requests.ts'
import { freePort, startServer } from '../server-process.ts'
import { signIn, userClaims, type UserClient } from '../user-client.ts'
import { userRows } from '../user-rows.ts'

const script = fileURLToPath(new URL('../servers/ceiling.ts', import.meta.url))

const ask = (token: string) => form({ client_id: 'bench', client_secret: 'x', token })

export const ceiling: Entry = {
  name: 'ceiling',
  enter: async ({ nodeArgs, createDatabase, repeatedTokens }): Promise<Contestant> => {
    const port = await freePort()
    const env = {
      NODE_ENV: 'production',
      DATABASE_URL: await createDatabase('ceiling'),
      CLAIMS: JSON.stringify(userClaims),
    }
    const server = await startServer({ args: [...nodeArgs, script], port, env, readyPath: '/jwks' })

    const grant = form({ grant_type: 'client_credentials', client_id: 'bench', client_secret: 'x', scope })
    const [byJose = ''] = await mint(port, '/token', grant, 1)
    const [byCrypto = ''] = await mint(port, '/token-by-crypto', grant, 1)
    await assertJwt(port, '/jwks', byJose)
    await assertJwt(port, '/jwks', byCrypto)
    await assertRefusesStranger(port, '/introspect', ask('forged'))
    const signedIn = await signIn(clientAt(port, 'ES256'))

    return {
      ...server,
      rows: [
        ...documentRows(
          { label: 'bare Fastify: bytes that were made before', baseline: 'ceiling' },
          `http://127.0.0.1:${port}`,
          { discovery: '/document/metadata', jwks: '/document/keys' },
        ),
        {
          endpoint: 'client_credentials',
          label: 'bare Fastify: form POST, one ES256 signature by jose',
          format: 'jwt',
          baseline: 'ceiling',
          path: '/token',
          order: 'repeated',
          requests: async () => [toBody(grant)],
          expectation: { tokens: ['access_token'] },
        },
        {
          endpoint: 'client_credentials',
          label: 'bare Fastify: the same, signed by node:crypto',
          format: 'jwt',
          path: '/token-by-crypto',
          order: 'repeated',
          requests: async () => [toBody(grant)],
          expectation: { tokens: ['access_token'] },
        },
        {
          endpoint: 'introspection',
          label: 'bare Fastify: form POST, one ES256 verification by jose',
          format: 'jwt',
          holder: 'user',
          baseline: 'ceiling',
          path: '/introspect',
          order: 'repeated',
          requests: async () =>
            (await signedIn.getAccessTokens(repeatedTokens)).map((token) => toBody(ask(token))),
          expectation: { values: { active: true } },
        },
        ...(await rowsOfUsers(port, repeatedTokens)),
      ],
    }
  },
}

async function rowsOfUsers(port: number, repeatedTokens: number): Promise<Row[]> {
  const common = {
    format: 'jwt',
    baseline: 'ceiling',
    jwksPath: '/jwks',
    userinfoPath: '/userinfo',
  } as const
  const rows = await userRows({
    ...common,
    label: 'bare Fastify: form POST, one statement, two signatures by jose',
    userinfoLabel: 'bare Fastify: one ES256 verification by jose, one statement',
    algorithm: 'ES256',
    client: clientAt(port, 'ES256'),
    userinfoTokens: [repeatedTokens],
  })
  const byRsa = await userRows({
    ...common,
    label: 'bare Fastify: the same',
    algorithm: 'RS256',
    client: clientAt(port, 'RS256'),
    userinfoTokens: [],
  })
  const opaque: Row = {
    endpoint: 'userinfo',
    label: 'bare Fastify: one SHA-256, one statement',
    format: 'opaque',
    baseline: 'ceiling',
    path: '/userinfo/opaque',
    order: 'repeated',
    requests: async () => (await mint(port, '/opaque', '', repeatedTokens)).map(toBearer),
    expectation: { values: { sub: 'bench', email: userClaims.email } },
  }
  return [...rows, ...byRsa, opaque]
}

function clientAt(port: number, algorithm: string): UserClient {
  return {
    port,
    clientId: 'bench',
    clientSecret: 'x',
    authorizePath: '/authorize',
    codePath: `/code/${algorithm}`,
    refreshPath: `/refresh/${algorithm}`,
    user: { username: 'bench', password: 'x' },
  }
}
