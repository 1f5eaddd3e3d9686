// Owns Latchkey as a process of the benchmark: the real server as `npm start` runs it, and the clients and users that
// its own command line registers, with generated secrets.

import { execFile } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { jwks } from '../assertions.ts'
import { scope, type Algorithm, type Format, type Ground } from '../contestant.ts'
import { freePort, startServer, type Server, type ServerOptions } from '../server-process.ts'
import { redirectUri, userClaims, type User, type UserClient } from '../user-client.ts'

const run = promisify(execFile)
const here = fileURLToPath(new URL('../..', import.meta.url))
/** Empty: without one there would be the demo, and the sample web app beside it. */
const seedFile = fileURLToPath(new URL('../seed.json', import.meta.url))

/** So that introspection tells of tokens that clients got for themselves, which it hides by default. */
export const toldOfClients = { OIDC_INTROSPECTION_VALIDATE_AUDIENCE_SCOPE: 'false' }

export interface Client {
  client_id: string
  client_secret: string
}

export interface Started extends Server {
  createClient: (format: Format) => Promise<Client>
  /** By private_key_jwt. */
  createSigningClient: () => Promise<Pick<Client, 'client_id'>>
  /** An API that may introspect the tokens of that client. */
  createApi: (of: Pick<UserClient, 'clientId'>) => Promise<Client>
  /** Whose secret somebody chose, so that argon2id has to verify it. */
  createChosenClient: (secret: string) => Promise<Client>
  /** With a redirect URI, for users to sign in to. */
  createWebClient: (format: Format, algorithm: Algorithm) => Promise<Client>
  createUser: (username: string) => Promise<User>
  /** Another process with the same settings, on a port of its own. */
  startAnother: () => Promise<Server>
  databaseUrl: string
}

export async function startLatchkey(
  ground: Pick<Ground, 'nodeArgs' | 'createDatabase' | 'checkout'>,
  database: string,
  settings: Record<string, string>,
  how: Pick<ServerOptions, 'cores' | 'isReady'> = {},
): Promise<Started> {
  const program = programOf(ground.checkout ?? here)
  const port = await freePort()
  const databaseUrl = await ground.createDatabase(database)
  const env = {
    ...program.env,
    HOST: '127.0.0.1',
    OIDC_ISSUER: `http://127.0.0.1:${port}`,
    DATABASE_URL: databaseUrl,
    SECRET_KEY: randomBytes(32).toString('base64url'),
    SEED_FILE: seedFile,
    ...settings,
  }
  const args = [...program.args, ...ground.nodeArgs, program.script]
  const startAt = async (port: number) =>
    startServer({ args, port, env, readyPath: '/.well-known/openid-configuration', ...how })
  return {
    ...(await startAt(port)),
    startAnother: async () => startAt(await freePort()),
    databaseUrl,
    createClient: (format) =>
      command<Client>(program, env, ['client', 'create', '--scope', scope, '--access-token-format', format]),
    createSigningClient: () => command(program, env, ['client', 'create', '--metadata', signingClient()]),
    createApi: ({ clientId }) =>
      command<Client>(program, env, ['client', 'create', '--scope', `token_introspection ${clientId}`]),
    createChosenClient: async (client_secret) => {
      const metadata = JSON.stringify({ scope, client_secret })
      return {
        ...(await command<Client>(program, env, ['client', 'create', '--metadata', metadata])),
        client_secret,
      }
    },
    createWebClient: (format, algorithm) =>
      command<Client>(program, env, ['client', 'create', '--metadata', webClient(format, algorithm)]),
    createUser: (username) => createUser(program, env, username),
  }
}

function signingClient(): string {
  return JSON.stringify({
    scope,
    grant_types: ['client_credentials'],
    token_endpoint_auth_method: 'private_key_jwt',
    jwks,
  })
}

async function createUser(program: Program, env: Record<string, string>, username: string): Promise<User> {
  const password = randomBytes(16).toString('base64url')
  const { name, email, email_verified } = userClaims
  const claims = ['--name', name, '--email', email, '--email-verified', String(email_verified)]
  await command(program, env, ['user', 'create', username, '--password', password, ...claims])
  return { username, password }
}

function webClient(access_token_format: Format, id_token_signed_response_alg: Algorithm): string {
  return JSON.stringify({
    redirect_uris: [redirectUri],
    scope: 'read_books',
    token_endpoint_auth_method: 'client_secret_post',
    access_token_format,
    // RS256 is what a client gets that registers nothing.
    ...(id_token_signed_response_alg === 'ES256' ? { id_token_signed_response_alg } : {}),
  })
}

interface Program {
  script: string
  /** What `npm start` gives to Node, and to its environment. */
  args: string[]
  env: Record<string, string>
}

function programOf(checkout: string): Program {
  const { scripts } = JSON.parse(readFileSync(join(checkout, 'package.json'), 'utf8')) as {
    scripts: { start: string }
  }
  const start = scripts.start.split(' ')
  const env = start.slice(0, start.indexOf('exec')).map((one) => {
    const [name = '', ...value] = one.split('=')
    return [name, value.join('=')] as const
  })
  return {
    script: join(checkout, 'src/main.ts'),
    args: start.slice(start.indexOf('node') + 1, -1),
    env: Object.fromEntries(env),
  }
}

async function command<T>({ script }: Program, env: Record<string, string>, args: string[]): Promise<T> {
  const environment = { PATH: process.env['PATH'], ...env }
  const { stdout } = await run(process.execPath, [script, ...args, '--json'], { env: environment })
  return JSON.parse(stdout) as T
}

/** The client as somebody who signs in to it sees it. */
export function userClient({ port }: Server, client: Client, user: User): UserClient {
  return {
    port,
    clientId: client.client_id,
    clientSecret: client.client_secret,
    authorizePath: '/authorize',
    codePath: '/token',
    pushPath: '/par',
    refreshPath: '/token',
    user,
  }
}
