// Owns the bare ceiling: the least that a Fastify server can do to hand out or check an ES256 token. No client
// authentication, no database, no log: what a real server costs beyond it is that server's own doing.

import formbody from '@fastify/formbody'
import fastify from 'fastify'
import { SignJWT, exportJWK, generateKeyPair, jwtVerify } from 'jose'

const issuer = `http://127.0.0.1:${process.env['PORT']}`
const { privateKey, publicKey } = await generateKeyPair('ES256')
const noStore = { 'cache-control': 'no-store', pragma: 'no-cache' }
const server = fastify()
await server.register(formbody)

server.post<{ Body: { client_id: string; scope: string } }>('/token', async (request, reply) => {
  const { client_id, scope } = request.body
  const now = Math.floor(Date.now() / 1000)
  const claims = { iss: issuer, sub: client_id, aud: issuer, client_id, scope, jti: crypto.randomUUID() }
  const token = new SignJWT({ ...claims, iat: now, exp: now + 3600 })
  token.setProtectedHeader({ alg: 'ES256', typ: 'at+jwt', kid: 'ceiling' })
  reply.headers(noStore)
  return { access_token: await token.sign(privateKey), token_type: 'Bearer', expires_in: 3600, scope }
})

server.post<{ Body: { token: string } }>('/introspect', async (request, reply) => {
  reply.headers(noStore)
  try {
    const { payload } = await jwtVerify(request.body.token, publicKey, { typ: 'at+jwt', issuer })
    return { active: true, ...payload, token_type: 'Bearer' }
  } catch {
    return { active: false }
  }
})

server.get('/jwks', async () => ({
  keys: [{ ...(await exportJWK(publicKey)), kid: 'ceiling', alg: 'ES256', use: 'sig' }],
}))

await server.listen({ port: Number(process.env['PORT']), host: '127.0.0.1' })
process.on('SIGTERM', () => process.exit())
