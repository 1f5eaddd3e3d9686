/** A strict team's API: tokens for the issuer's default resource. */
import Fastify, { type FastifyRequest } from 'fastify'
import requireScope, { type AccessToken } from '@latchkey/require-scope'

interface Caller {
  readonly client: string
  readonly scopes: readonly string[]
  readonly expires: string
}

const issuer = process.env['ISSUER']
if (issuer === undefined) throw new Error('ISSUER is not set')

const app = Fastify()
await app.register(requireScope, { issuer })

function describe({ clientId, scopes, expiresAt }: AccessToken): Caller {
  return { client: clientId, scopes: [...scopes], expires: expiresAt.toISOString() }
}

app.get('/open', async () => ({ open: true }))
app.get('/books', { config: { scope: 'read_books' } }, async (request: FastifyRequest) =>
  describe(request.token),
)
app.post('/books', { onRequest: app.requireScope('read_books', 'write_books') }, async ({ token }) =>
  describe(token),
)

console.log(await app.listen({ host: '127.0.0.1', port: 0 }))
