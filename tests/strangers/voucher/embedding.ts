/** What the types say to somebody who registers the server in an app: compiled, never run. */
import { fastify, type FastifyInstance } from 'fastify'
import embed, { latchkey, type LatchkeyOptions, type OAuth } from 'latchkey'

export async function build(options: LatchkeyOptions): Promise<OAuth> {
  const app = fastify({ logger: true })
  await app.register(latchkey, options)
  await app.register(embed, {
    prefix: '/auth',
    settings: process.env,
    plugins: [async (own: FastifyInstance) => void own.pages],
  })
  // @ts-expect-error A pool is not its address.
  await app.register(latchkey, { pool: 'postgresql://localhost/books' })
  // @ts-expect-error Settings have their own place.
  await app.register(latchkey, { OIDC_ISSUER: 'https://login.example' })
  app.get('/books', { onRequest: app.requireScope('read_books') }, async ({ token }) => token.scopes.size)
  return app.oauth
}
