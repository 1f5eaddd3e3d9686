/**
 * What a development start brings along, so that the first minutes show something: a guarded `GET /books`, a service
 * and a web app that may read it, and a user to sign in as. Their secrets are generated here and kept in DATA_DIR, for
 * the commands and the password that are printed. The web app itself is `examples/sample-web-app`.
 */
import type { FastifyInstance } from 'fastify'
import fp from 'fastify-plugin'
import { generateClientSecret } from '../src/services/clients/client-secrets.ts'
import { keptSecret } from '../src/services/database/data-dir.ts'
import { generatePassword } from '../src/services/users/passwords.ts'
import type { OAuth } from './oauth.ts'
import requireScope, { type RequireScopeHook, type Verifier } from './require-scope/index.ts'
import { createOwnVerifier } from './resource-server.ts'

/** The file in DATA_DIR with `client_id:client_secret`, as `curl -u` takes it. */
export const CREDENTIALS_FILE = 'demo-client'
/** The same of the sample web app. */
export const SAMPLE_CREDENTIALS_FILE = 'sample-web-client'
/** The file in DATA_DIR with the demo user's password. */
export const PASSWORD_FILE = 'demo-user'
export const USERNAME = 'demo'
const SCOPE = 'read_books'
/** Seconds that a secret works beside its successor, which a server with a DATA_DIR of its own brings. */
const OVERLAP = 86_400

export const SERVICE = { client_id: 'demo-service', client_name: 'Demo service', scope: [SCOPE] }
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
  const here = fastify.requireScope(SCOPE)
  const elsewhere = await guardWhereScopeLives(fastify)
  const onRequest: RequireScopeHook = async (request, reply) => {
    const { resource } = await oauth.findScope(SCOPE)
    return resource === null ? here(request, reply) : elsewhere(request, reply)
  }
  fastify.get('/books', { onRequest }, async () => ({ books: BOOKS }))

  fastify.addHook('onReady', async () => oauth.seeder.apply(await content(oauth.config.DATA_DIR), OVERLAP))
}

/**
 * For who tries out resources: once the scope belongs to one, its tokens are for that one, and the books follow. An API of
 * your own has one identifier, and is told of a new one in its options.
 */
async function guardWhereScopeLives(fastify: FastifyInstance): Promise<RequireScopeHook> {
  const { oauth } = fastify
  const own = createOwnVerifier(oauth)
  const verifier: Verifier = {
    async verify(token) {
      const verified = await own.verify(token)
      const { resource } = await oauth.findScope(SCOPE)
      const isForBooks = resource !== null && verified.audience.includes(resource)
      return isForBooks ? { ...verified, audience: [...verified.audience, oauth.issuer] } : verified
    },
  }
  let guard: RequireScopeHook | undefined
  await fastify.register(async (scope) => {
    await scope.register(requireScope, { verifier, resource: oauth.issuer, metadata: false })
    guard = scope.requireScope(SCOPE)
  })
  if (guard === undefined) throw new Error('the books are not guarded')
  return guard
}

/** As a SEED_FILE would say it, and by the same rule: what is changed here stays. */
async function content(dataDir: string): Promise<Record<string, unknown>> {
  return {
    scopes: [{ name: SCOPE, description: 'Read your books' }],
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
export async function registerSample({ clients }: OAuth, origin: string): Promise<void> {
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

export default fp(demo, {
  name: 'latchkey-demo',
  dependencies: ['latchkey-oauth', 'latchkey-resource-server'],
  encapsulate: true,
})
