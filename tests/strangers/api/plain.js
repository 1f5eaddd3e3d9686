/** Another team's API, in JavaScript: tokens for a resource of its own. */
import Fastify from 'fastify'
import requireScope from '@latchkey/require-scope'

const { ISSUER, AUDIENCE } = process.env
const app = Fastify()
await app.register(requireScope, { issuer: ISSUER, audience: AUDIENCE })

app.addHook('onRequest', app.requireScope('read_reports'))
app.get('/reports', async ({ token }) => ({ client: token.clientId, audience: token.audience }))

console.log(await app.listen({ host: '127.0.0.1', port: 0 }))
