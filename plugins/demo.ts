/**
 * What a development start brings along, so that the first minutes show something: a guarded `GET /books`, a service
 * and a web app that may read it, and a user to sign in as. Their secrets are generated here and kept in DATA_DIR, for
 * the commands and the password that are printed. The web app itself is `examples/sample-web-app`.
 */
import type { FastifyInstance } from 'fastify'
import fp from 'fastify-plugin'
import type { ClientInformation } from '../src/protocol/client-metadata.ts'
import { generateClientSecret } from '../src/services/clients/client-secrets.ts'
import { keptSecret, writeDataFile } from '../src/services/database/data-dir.ts'
import { generatePassword } from '../src/services/users/passwords.ts'
import type { OAuth } from './oauth.ts'

/** The file in DATA_DIR with `client_id:client_secret`, as `curl -u` takes it. */
export const CREDENTIALS_FILE = 'demo-client'
/** The same of the sample web app. */
export const SAMPLE_CREDENTIALS_FILE = 'sample-web-client'
/** The file in DATA_DIR with the demo user's password. */
export const PASSWORD_FILE = 'demo-user'
export const USERNAME = 'demo'
const SCOPE = 'read_books'
/** Seconds that the secret before still works, for a server beside us with a DATA_DIR of its own. */
const OVERLAP = 86_400

const SERVICE = { client_id: 'demo-service', client_name: 'Demo service', scope: [SCOPE] }
const SAMPLE = {
  client_id: 'sample-web',
  client_name: 'Bookshelf (sample web app)',
  grant_types: ['authorization_code', 'refresh_token'],
  scope: [SCOPE],
  ...addresses('http://localhost:3001'),
}
/** Of one kind, that stay registered. */
const MAX_ADDRESSES = 5

const BOOKS = [
  { title: 'The Left Hand of Darkness', author: 'Ursula K. Le Guin' },
  { title: 'Solaris', author: 'Stanisław Lem' },
]

const CLAIMS = {
  name: 'Demo User',
  given_name: 'Demo',
  family_name: 'User',
  preferred_username: USERNAME,
  email: 'demo@example.com',
  email_verified: true,
}

async function demo(fastify: FastifyInstance): Promise<void> {
  const { oauth } = fastify
  fastify.get('/books', { config: { scope: SCOPE } }, async () => ({ books: BOOKS }))

  fastify.addHook('onReady', async () => {
    const scope = { name: SCOPE, description: 'Read your books' }
    // Another process that starts now may have inserted it in between.
    await oauth.resources.saveScope(scope).catch(async () => oauth.resources.saveScope(scope))
    await keepClient(oauth, CREDENTIALS_FILE, SERVICE)
    await keepClient(oauth, SAMPLE_CREDENTIALS_FILE, SAMPLE)
    await keepUser(oauth)
  })
}

async function keepClient(
  { clients, config }: OAuth,
  file: string,
  metadata: ClientInformation & { client_id: string },
): Promise<void> {
  const { client_id: id } = metadata
  const kept = await keptSecret(config.DATA_DIR, file, () => `${id}:${generateClientSecret()}`)
  const secret = kept.slice(id.length + 1)
  if ((await clients.find(id)) === null) {
    await clients.create({ ...metadata, client_secret: secret }).catch(async (error: unknown) => {
      // Another process that starts now may have been first.
      if ((await clients.find(id)) === null) throw error
    })
  }
  if (await clients.hasSecret(id, secret)) return
  const { client_secret: renewed } = await clients.rotateSecret(id, OVERLAP)
  await writeDataFile(config.DATA_DIR, file, `${id}:${renewed}`)
}

/** Registers where the sample web app is, now that it listens. */
export async function registerSample({ clients }: OAuth, origin: string): Promise<void> {
  const client = await clients.find(SAMPLE.client_id)
  if (client === null) return
  const { client_uri, redirect_uris, post_logout_redirect_uris } = addresses(origin)
  client.client_uri = client_uri
  client.redirect_uris = withFormer(redirect_uris, client.redirect_uris)
  client.post_logout_redirect_uris = withFormer(post_logout_redirect_uris, client.post_logout_redirect_uris)
  await clients.save(client)
}

function addresses(origin: string) {
  const home = `${origin}/`
  return { client_uri: home, redirect_uris: [`${origin}/callback`], post_logout_redirect_uris: [home] }
}

/** The former ones stay for a server beside us, whose sample has another port. */
function withFormer(uris: readonly string[], former: readonly string[] = []): string[] {
  return uris.every((uri) => former.includes(uri))
    ? [...former]
    : [...uris, ...former].slice(0, MAX_ADDRESSES)
}

async function keepUser({ users, config }: OAuth): Promise<void> {
  const password = await keptSecret(config.DATA_DIR, PASSWORD_FILE, generatePassword)
  if ((await users.find(USERNAME)) === null) {
    await users.create({ username: USERNAME, password, ...CLAIMS }).catch(async (error: unknown) => {
      // Another process that starts now may have been first.
      if ((await users.find(USERNAME)) === null) throw error
    })
  }
  if (!(await users.hasPassword(USERNAME, password))) await users.setPassword(USERNAME, password)
}

export default fp(demo, {
  name: 'latchkey-demo',
  dependencies: ['latchkey-oauth', 'latchkey-resource-server'],
  encapsulate: true,
})
