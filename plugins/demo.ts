/**
 * What a development start brings along, so that the first minute shows something: a guarded `GET /books` and a
 * client that may read it. Its secret is generated here and kept in DATA_DIR, for the commands that are printed.
 */
import type { FastifyInstance } from 'fastify'
import fp from 'fastify-plugin'
import { readDataFile, writeDataFile } from '../src/services/data-dir.ts'

/** The file in DATA_DIR with `client_id:client_secret`, as `curl -u` takes it. */
export const CREDENTIALS_FILE = 'demo-client'
const CLIENT_ID = 'demo-service'
const SCOPE = 'read_books'
/** Seconds that the secret before still works, for a server beside us with a DATA_DIR of its own. */
const OVERLAP = 86_400

const BOOKS = [
  { title: 'The Left Hand of Darkness', author: 'Ursula K. Le Guin' },
  { title: 'Solaris', author: 'Stanisław Lem' },
]

async function demo(fastify: FastifyInstance): Promise<void> {
  const { oauth } = fastify
  fastify.get('/books', { config: { scope: SCOPE } }, async () => ({ books: BOOKS }))

  fastify.addHook('onReady', async () => {
    const { clients, resources, config } = oauth
    await resources.saveScope({ name: SCOPE, description: 'Read your books' })
    const kept = await readDataFile(config.DATA_DIR, CREDENTIALS_FILE)
    const secret = kept?.slice(CLIENT_ID.length + 1) ?? ''
    if (await clients.hasSecret(CLIENT_ID, secret)) return
    const client =
      (await clients.find(CLIENT_ID)) === null
        ? await clients.create({ client_id: CLIENT_ID, client_name: 'Demo service', scope: [SCOPE] })
        : await clients.rotateSecret(CLIENT_ID, OVERLAP)
    await writeDataFile(config.DATA_DIR, CREDENTIALS_FILE, `${CLIENT_ID}:${client.client_secret}`)
  })
}

export default fp(demo, {
  name: 'latchkey-demo',
  dependencies: ['latchkey-oauth', 'latchkey-resource-server'],
  encapsulate: true,
})
