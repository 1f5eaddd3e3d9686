import { createRemoteJWKSet, jwtVerify } from 'jose'
import { expect, test } from 'vitest'
import { startServer } from '../../support/server.ts'

const server = await startServer()
const { oauth } = server.server

test('a plugin says something in the name of the server, and others verify it', async () => {
  for (const algorithm of ['RS256', 'ES256', 'EdDSA']) {
    const jwt = await oauth.signStatement({ sub: 'ada', iss: 'https://elsewhere.example' }, { typ: 'logout+jwt', algorithm })
    const keys = createRemoteJWKSet(new URL(`${server.url}/jwks`))
    const { payload, protectedHeader } = await jwtVerify(jwt, keys, { issuer: server.url, typ: 'logout+jwt' })
    expect([payload.sub, protectedHeader.alg]).toEqual(['ada', algorithm])
  }
}) // prettier-ignore

test.each(['at+jwt', 'AT+JWT', 'application/at+jwt', 'JWT', ''])('it signs nothing of the type "%s"', async (typ) => {
  await expect(oauth.signStatement({ sub: 'ada' }, { typ })).rejects.toThrow(TypeError)
}) // prettier-ignore

test('what it signs is no token of ours', async () => {
  const now = Math.floor(Date.now() / 1000)
  const claims = {
    sub: 'ada',
    aud: server.url,
    client_id: 'web',
    iat: now,
    exp: now + 60,
    jti: 'one',
    scope: 'a',
  }
  const jwt = await oauth.signStatement(claims, { typ: 'logout+jwt', algorithm: 'ES256' })
  expect(await oauth.verify(jwt)).toBeNull()
  const page = await server.get(`/end-session?id_token_hint=${jwt}`)
  expect(page.status).toBe(400)
})
