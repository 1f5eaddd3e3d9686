// Owns Latchkey's place in the comparison: the real server as `npm start` runs it, clients registered by its
// own command line with generated secrets, and what is asked of it. It enters twice: as it is by default, and
// with the switch that lets jose sign access tokens, so that one run shows what the switch is worth.

import { execFile } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { assertChecksSecret, assertJwt, assertRefusesStranger, form, freePort, mint } from '../contestant.ts'
import { scope, startServer } from '../contestant.ts'
import type { Entry, Format, Ground, Row, Server } from '../contestant.ts'

const run = promisify(execFile)
const script = fileURLToPath(new URL('../../src/main.ts', import.meta.url))

interface Client {
  client_id: string
  client_secret: string
}

interface Started extends Server {
  createClient: (format: Format) => Promise<Client>
}

export const latchkey: Entry = {
  name: 'latchkey',
  enter: async (ground) => {
    const { repeatedTokens, freshTokens } = ground
    const server = await start(ground, 'latchkey', {})
    const { port } = server
    const client = await server.createClient('jwt')
    const opaqueClient = await server.createClient('opaque')

    const fresh = await mint(port, '/token', grantFor(client), freshTokens)
    const opaque = await mint(port, '/token', grantFor(opaqueClient), repeatedTokens)
    const wrong = { ...client, client_secret: 'wrong' }
    await assertJwt(port, '/jwks', fresh[0] ?? '')
    await assertChecksSecret(port, '/token', grantFor(wrong))
    await assertChecksSecret(port, '/introspect', ask(wrong, fresh[0] ?? ''))
    await assertRefusesStranger(port, '/introspect', ask(client, 'forged'))

    return {
      ...server,
      rows: [
        tokenRow('Latchkey, JWT', 'jwt', client),
        tokenRow('Latchkey, opaque', 'opaque', opaqueClient),
        introspectionRow(
          `Latchkey, JWT, ${repeatedTokens} tokens in turn`,
          'jwt',
          client,
          fresh.slice(0, repeatedTokens),
        ),
        introspectionRow(`Latchkey, JWT, ${freshTokens} tokens in turn`, 'jwt', client, fresh),
        introspectionRow('Latchkey, opaque', 'opaque', opaqueClient, opaque),
      ],
    }
  },
}

export const latchkeyByJose: Entry = {
  name: 'latchkey-by-jose',
  enter: async (ground) => {
    const server = await start(ground, 'latchkey_by_jose', { OIDC_SIGN_SYNCHRONOUSLY: 'false' })
    const client = await server.createClient('jwt')
    return { ...server, rows: [tokenRow('Latchkey, JWT, OIDC_SIGN_SYNCHRONOUSLY=false', 'jwt', client)] }
  },
}

async function start(ground: Ground, database: string, settings: Record<string, string>): Promise<Started> {
  const port = await freePort()
  const env = {
    HOST: '127.0.0.1',
    OIDC_ISSUER: `http://127.0.0.1:${port}`,
    DATABASE_URL: await ground.createDatabase(database),
    SECRET_KEY: randomBytes(32).toString('base64url'),
    OIDC_INTROSPECTION_VALIDATE_AUDIENCE_SCOPE: 'false',
    ...settings,
  }
  const args = [...ground.nodeArgs, script]
  const server = await startServer({ args, port, env, readyPath: '/.well-known/openid-configuration' })
  return { ...server, createClient: (format) => createClient(env, format) }
}

async function createClient(env: Record<string, string>, format: Format): Promise<Client> {
  const args = [script, 'client', 'create', '--scope', scope, '--access-token-format', format, '--json']
  const { stdout } = await run(process.execPath, args, { env: { PATH: process.env['PATH'], ...env } })
  return JSON.parse(stdout) as Client
}

function tokenRow(label: string, format: Format, client: Client): Row {
  const bodies = [grantFor(client)]
  return {
    endpoint: 'client_credentials',
    label,
    format,
    path: '/token',
    bodies,
    expectation: 'access_token',
  }
}

function introspectionRow(label: string, format: Format, client: Client, tokens: string[]): Row {
  const bodies = tokens.map((token) => ask(client, token))
  return { endpoint: 'introspection', label, format, path: '/introspect', bodies, expectation: 'active' }
}

function grantFor({ client_id, client_secret }: Client): string {
  return form({ grant_type: 'client_credentials', client_id, client_secret, scope })
}

function ask({ client_id, client_secret }: Client, token: string): string {
  return form({ client_id, client_secret, token, token_type_hint: 'access_token' })
}
