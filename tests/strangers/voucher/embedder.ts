/** What somebody who embeds the server writes: compiled, never run. */
import { buildServer, ConfigError, type BuildOptions, type ClientInformation } from 'latchkey'

export async function start(options: BuildOptions): Promise<ClientInformation> {
  try {
    const server = await buildServer({ DATABASE_URL: 'postgresql://localhost/books', PORT: 3000 }, options)
    const client = await server.oauth.clients.create({ client_name: 'Reports', scope: ['read_books'] })
    client.scope = ['read_books', 'write_books']
    server.get(
      '/books',
      { onRequest: server.requireScope('read_books') },
      async (request) => request.token.clientId,
    )
    // @ts-expect-error Neither the database nor its ORM is for strangers.
    void server.oauth.database
    return await server.oauth.clients.save(client)
  } catch (error) {
    if (error instanceof ConfigError) console.error(error.message)
    throw error
  }
}
