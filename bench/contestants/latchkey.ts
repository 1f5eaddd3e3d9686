// Owns Latchkey's place in the comparison: the real server as `npm start` runs it, clients registered by its
// own command line with generated secrets, and what is asked of it.

import { execFile } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { assertChecksSecret, assertJwt, assertRefusesStranger, form, freePort, mint } from '../contestant.ts'
import { scope, startServer } from '../contestant.ts'
import type { Contestant, Entry, Row } from '../contestant.ts'

const run = promisify(execFile)
const script = fileURLToPath(new URL('../../src/main.ts', import.meta.url))

interface Client {
  client_id: string
  client_secret: string
}

export const latchkey: Entry = {
  name: 'latchkey',
  enter: async ({ nodeArgs, createDatabase, repeatedTokens, freshTokens }): Promise<Contestant> => {
    const port = await freePort()
    const env = {
      HOST: '127.0.0.1',
      OIDC_ISSUER: `http://127.0.0.1:${port}`,
      DATABASE_URL: await createDatabase('latchkey'),
      SECRET_KEY: randomBytes(32).toString('base64url'),
      OIDC_INTROSPECTION_VALIDATE_AUDIENCE_SCOPE: 'false',
    }
    const readyPath = '/.well-known/openid-configuration'
    const server = await startServer({ args: [...nodeArgs, script], port, env, readyPath })
    const client = await createClient(env, [])

    const jwts = await mint(port, '/token', grantFor(client), repeatedTokens)
    await assertJwt(port, '/jwks', jwts[0] ?? '')
    await assertChecksSecret(port, '/token', grantFor({ ...client, client_secret: 'wrong' }))
    await assertChecksSecret(port, '/introspect', ask({ ...client, client_secret: 'wrong' }, jwts[0] ?? ''))
    await assertRefusesStranger(port, '/introspect', ask(client, 'forged'))
    const fresh = await mint(port, '/token', grantFor(client), freshTokens)

    const rows: Row[] = [
      {
        endpoint: 'client_credentials',
        label: 'Latchkey, JWT',
        path: '/token',
        bodies: [grantFor(client)],
        expectation: 'access_token',
      },
      {
        endpoint: 'introspection',
        label: `Latchkey, JWT, ${repeatedTokens} tokens again and again`,
        path: '/introspect',
        bodies: jwts.map((token) => ask(client, token)),
        expectation: 'active',
      },
      {
        endpoint: 'introspection',
        label: `Latchkey, JWT, ${freshTokens} tokens in turn`,
        path: '/introspect',
        bodies: fresh.map((token) => ask(client, token)),
        expectation: 'active',
      },
    ]
    return { ...server, rows }
  },
}

async function createClient(env: Record<string, string>, more: string[]): Promise<Client> {
  const args = [script, 'client', 'create', '--scope', scope, ...more, '--json']
  const { stdout } = await run(process.execPath, args, { env: { PATH: process.env['PATH'], ...env } })
  return JSON.parse(stdout) as Client
}

function grantFor({ client_id, client_secret }: Client): string {
  return form({ grant_type: 'client_credentials', client_id, client_secret, scope })
}

function ask({ client_id, client_secret }: Client, token: string): string {
  return form({ client_id, client_secret, token, token_type_hint: 'access_token' })
}
