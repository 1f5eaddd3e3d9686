/**
 * What a development start brings along, so that the first minute shows something: a guarded `GET /books`, a client
 * that may read it, and a user to sign in as. Their secrets are generated here and kept in DATA_DIR, for the commands
 * and the password that are printed.
 */
import type { FastifyInstance } from 'fastify'
import fp from 'fastify-plugin'
import { keptSecret, readDataFile, writeDataFile } from '../src/services/data-dir.ts'
import { generatePassword } from '../src/services/passwords.ts'
import type { OAuth } from './oauth.ts'

/** The file in DATA_DIR with `client_id:client_secret`, as `curl -u` takes it. */
export const CREDENTIALS_FILE = 'demo-client'
/** The file in DATA_DIR with the demo user's password. */
export const PASSWORD_FILE = 'demo-user'
export const USERNAME = 'demo'
const CLIENT_ID = 'demo-service'
const SCOPE = 'read_books'
/** Seconds that the secret before still works, for a server beside us with a DATA_DIR of its own. */
const OVERLAP = 86_400

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
    await oauth.resources.saveScope({ name: SCOPE, description: 'Read your books' })
    await keepClient(oauth)
    await keepUser(oauth)
  })
}

async function keepClient({ clients, config }: OAuth): Promise<void> {
  const kept = await readDataFile(config.DATA_DIR, CREDENTIALS_FILE)
  const secret = kept?.slice(CLIENT_ID.length + 1) ?? ''
  if (await clients.hasSecret(CLIENT_ID, secret)) return
  const client =
    (await clients.find(CLIENT_ID)) === null
      ? await clients.create({ client_id: CLIENT_ID, client_name: 'Demo service', scope: [SCOPE] })
      : await clients.rotateSecret(CLIENT_ID, OVERLAP)
  await writeDataFile(config.DATA_DIR, CREDENTIALS_FILE, `${CLIENT_ID}:${client.client_secret}`)
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
