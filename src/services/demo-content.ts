/**
 * What a development start registers: a service and a web app, a scope that they may have, and a user to sign in as. Their
 * secrets are generated here and kept in DATA_DIR, for the commands and the password that are printed. The API that the scope
 * is of is `plugins/demo.ts`, the web app `examples/sample-web-app`.
 */
import { message } from '../protocol/message.ts'
import type { ClientRegistry } from './clients/client-registry.ts'
import { generateClientSecret } from './clients/client-secrets.ts'
import type { Profiles } from './clients/profiles.ts'
import { keptSecret } from './database/data-dir.ts'
import { generatePassword } from './users/passwords.ts'

/** The plugin that serves it: where a server has none of that name, there is no demo. */
export const DEMO = 'latchkey-demo'
/** The file in DATA_DIR with `client_id:client_secret`, as `curl -u` takes it. */
export const CREDENTIALS_FILE = 'demo-client'
/** The same of the sample web app. */
export const SAMPLE_CREDENTIALS_FILE = 'sample-web-client'
/** The file in DATA_DIR with the demo user's password. */
export const PASSWORD_FILE = 'demo-user'
export const USERNAME = 'demo'
/** What its one API asks for. */
export const SCOPE = 'read_books'
/** Seconds that a secret works beside its successor, which a server with a DATA_DIR of its own brings. */
export const OVERLAP = 86_400

export const SERVICE = { client_id: 'demo-service', client_name: 'Demo service', scope: [SCOPE] }
const SAMPLE = {
  client_id: 'sample-web',
  client_name: 'Bookshelf (sample web app)',
  grant_types: ['authorization_code', 'refresh_token'],
  scope: [SCOPE],
  ...addresses('http://localhost:3001'),
}
/** As scopes are registered: in English, which catalogues have as it is. */
const READ = message('Read your books')
/** Of one kind, that stay registered. */
const MAX_ADDRESSES = 5

const CLAIMS = {
  name: 'Demo User',
  given_name: 'Demo',
  family_name: 'User',
  preferred_username: USERNAME,
  email: 'demo@example.com',
  email_verified: true,
}

/** Whether its apps may be registered under the profiles of the server. */
export function mayHaveSecrets({ profiles }: { profiles: Pick<Profiles, 'leaves'> }): boolean {
  return profiles.leaves('token_endpoint_auth_method', 'client_secret_basic')
}

/** As a SEED_FILE would say it, and by the same rule: what is changed here stays. */
export async function demoContent(dataDir: string): Promise<Record<string, unknown>> {
  return {
    scopes: [{ name: SCOPE, description: READ.text }],
    clients: [
      { ...SERVICE, client_secret: await secretOf(dataDir, CREDENTIALS_FILE, SERVICE.client_id) },
      { ...SAMPLE, client_secret: await secretOf(dataDir, SAMPLE_CREDENTIALS_FILE, SAMPLE.client_id) },
    ],
    users: [
      { username: USERNAME, password: await keptSecret(dataDir, PASSWORD_FILE, generatePassword), ...CLAIMS },
    ],
  }
}

async function secretOf(dataDir: string, file: string, id: string): Promise<string> {
  const kept = await keptSecret(dataDir, file, () => `${id}:${generateClientSecret()}`)
  return kept.slice(id.length + 1)
}

/** Registers where the sample web app is, now that it listens; what the README says of it stays. Callbacks may have any port. */
export async function registerSample(clients: ClientRegistry, origin: string): Promise<void> {
  const client = await clients.find(SAMPLE.client_id)
  if (client === null) return
  const { client_uri, post_logout_redirect_uris } = addresses(origin)
  client.client_uri = client_uri
  client.post_logout_redirect_uris = withMore(client.post_logout_redirect_uris, post_logout_redirect_uris)
  await clients.save(client)
}

function addresses(origin: string) {
  const home = `${origin}/`
  return { client_uri: home, redirect_uris: [`${origin}/callback`], post_logout_redirect_uris: [home] }
}

/** The first one stays the first; of those that were added later, the newest do. */
function withMore([own, ...added]: readonly string[] = [], uris: readonly string[]): string[] {
  const newest = new Set([...uris, ...added].filter((uri) => uri !== own))
  return [...(own === undefined ? [] : [own]), ...newest].slice(0, MAX_ADDRESSES)
}
