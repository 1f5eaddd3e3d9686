/** An API beside the server, one process, whose tokens are bound by DPoP. */
import { createSecretKey, randomBytes } from 'node:crypto'
import Fastify from 'fastify'
import requireScope from '@latchkey/require-scope'
import { createDpop, REMEMBERED } from './dpop.ts'

const issuer = process.env['ISSUER']
const port = Number(process.env['PORT'])
if (issuer === undefined || !(port > 0)) throw new Error('ISSUER or PORT is not set')

const seen = new Set<string>()
const secret = createSecretKey(randomBytes(32))
const dpop = createDpop({
  origin: `http://127.0.0.1:${port}`,
  nonces: async () => secret,
  async spend(proof) {
    const isFirst = !seen.has(proof)
    seen.add(proof)
    setTimeout(() => seen.delete(proof), REMEMBERED * 1000).unref()
    return isFirst
  },
})

const app = Fastify()
await app.register(requireScope, { issuer, senderConstraints: [dpop] })
app.get('/books', { config: { scope: 'read_books' } }, async ({ token }) => ({ reader: token.subject }))
console.log(await app.listen({ host: '127.0.0.1', port }))
