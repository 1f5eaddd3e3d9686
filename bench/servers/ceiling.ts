// Owns the bare ceiling: the least that a Fastify server can do to hand out or check an ES256 token. No client
// authentication, no database, no log: what a real server costs beyond it is that server's own doing. A user's tokens
// cannot do without a database; they are in ceiling-user.ts.

import { KeyObject, sign } from 'node:crypto'
import formbody from '@fastify/formbody'
import fastify from 'fastify'
import { SignJWT, exportJWK, generateKeyPair, jwtVerify } from 'jose'
import { serveUsers, type SigningKey } from './ceiling-user.ts'

const issuer = `http://127.0.0.1:${process.env['PORT']}`
const newKey = async (algorithm: string): Promise<SigningKey> => ({
  algorithm,
  kid: `ceiling-${algorithm}`,
  ...(await generateKeyPair(algorithm)),
})
const keys = [await newKey('ES256'), await newKey('RS256')] as const
const [{ privateKey, publicKey, kid }] = keys
const cryptoKey = KeyObject.from(privateKey)
const header = { alg: 'ES256', typ: 'at+jwt', kid }
const encodedHeader = Buffer.from(JSON.stringify(header)).toString('base64url')
const noStore = { 'cache-control': 'no-store', pragma: 'no-cache' }
const server = fastify()
await server.register(formbody)

interface Grant {
  Body: { client_id: string; scope: string }
}

server.post<Grant>('/token', async (request, reply) => {
  const token = new SignJWT(claimsFor(request.body)).setProtectedHeader(header)
  reply.headers(noStore)
  return tokenResponse(await token.sign(privateKey), request.body.scope)
})

server.post<Grant>('/token-by-crypto', async (request, reply) => {
  const claims = Buffer.from(JSON.stringify(claimsFor(request.body))).toString('base64url')
  const input = `${encodedHeader}.${claims}`
  const signature = sign('sha256', Buffer.from(input), { key: cryptoKey, dsaEncoding: 'ieee-p1363' })
  reply.headers(noStore)
  return tokenResponse(`${input}.${signature.toString('base64url')}`, request.body.scope)
})

function claimsFor({ client_id, scope }: Grant['Body']) {
  const iat = Math.floor(Date.now() / 1000)
  const jti = crypto.randomUUID()
  return { iss: issuer, sub: client_id, aud: issuer, client_id, scope, jti, iat, exp: iat + 3600 }
}

function tokenResponse(access_token: string, scope: string) {
  return { access_token, token_type: 'Bearer', expires_in: 3600, scope }
}

server.post<{ Body: { token: string } }>('/introspect', async (request, reply) => {
  reply.headers(noStore)
  try {
    const { payload } = await jwtVerify(request.body.token, publicKey, { typ: 'at+jwt', issuer })
    return { active: true, ...payload, token_type: 'Bearer' }
  } catch {
    return { active: false }
  }
})

const publish = async (key: SigningKey) => ({
  ...(await exportJWK(key.publicKey)),
  kid: key.kid,
  alg: key.algorithm,
  use: 'sig',
})
server.get('/jwks', async () => ({ keys: await Promise.all(keys.map(publish)) }))

/** As long as a real one. */
const metadata = { issuer, jwks_uri: `${issuer}/document/keys`, supported: 'x'.repeat(2000) }
const documents = { metadata, keys: { keys: await Promise.all(keys.map(publish)) } }
for (const [name, document] of Object.entries(documents)) {
  const bytes = Buffer.from(JSON.stringify(document))
  server.get(`/document/${name}`, (_request, reply) =>
    reply.header('content-type', 'application/json').send(bytes),
  )
}

await serveUsers(server, issuer, [...keys])
await server.listen({ port: Number(process.env['PORT']), host: '127.0.0.1' })
process.on('SIGTERM', () => process.exit())
