/** `fastify.requireScope` inside the server: which tokens a guarded route takes, and how it refuses the others. */
import { describe, expect, test } from 'vitest'
import { createClient, getToken, statusWith } from '../../support/clients.ts'
import { bearer } from '../../support/requests.ts'
import { startServer } from '../../support/server.ts'
import { addUserGrant, USER_GRANT } from '../../support/user-grant.ts'

const seed = { resources: [{ resource: 'https://music.example', scopes: ['play'] }] }
const server = await startServer(
  {},
  {
    seed,
    extend: (instance) => {
      addUserGrant(instance)
      instance.get('/books', { config: { scope: 'read' } }, async ({ token }) => ({
        ...token,
        scopes: [...token.scopes],
      }))
      instance.put('/books', { onRequest: instance.requireScope('read', 'write') }, async () => ({
        fine: true,
      }))
      instance.get('/any', { preHandler: instance.requireScope() }, async () => ({ fine: true }))
      instance.get('/music', { config: { scope: 'play' } }, async () => ({ fine: true }))
    },
  },
)
const client = await createClient(server, { client_id: 'service', scope: ['read', 'write', 'play'] })
const opaque = await createClient(server, { scope: ['read', 'write'], access_token_format: 'opaque' })

const tokenOf = async (scope: string, owner = client) =>
  (await getToken(server, owner, { scope })).access_token

/** Status and challenge of a refusal. */
async function refusal(path: string, init: RequestInit = {}): Promise<[number, string | null]> {
  const response = await server.request(path, init)
  return [response.status, response.headers.get('www-authenticate')]
}

describe('request.token', () => {
  test.each([client, opaque])('says who calls, with a token of $clientId', async (owner) => {
    const before = Date.now()
    const response = await server.get('/books', bearer(await tokenOf('read write', owner)))
    const token = (await response.json()) as Record<string, string>
    expect(token).toMatchObject({
      issuer: server.url,
      subject: owner.clientId,
      clientId: owner.clientId,
      scopes: ['read', 'write'],
      audience: [server.url],
      claims: { scope: 'read write', jti: token['jti'] },
    })
    const issuedAt = Date.parse(token['issuedAt']!)
    expect(issuedAt).toBeGreaterThanOrEqual(before)
    expect(issuedAt).toBeLessThanOrEqual(Date.now())
    expect(Date.parse(token['expiresAt']!)).toBe(issuedAt + 3_600_000)
  })

  test('names the user that a client acts for', async () => {
    const app = await createClient(server, { scope: ['read'], grant_types: [USER_GRANT] })
    const form = { grant_type: USER_GRANT, scope: 'read', user: 'ada' }
    const { access_token } = await getToken(server, app, form)
    const response = await server.get('/books', bearer(access_token))
    expect(await response.json()).toMatchObject({ subject: 'ada', clientId: app.clientId })
  })
})

describe('a challenge', () => {
  const metadata = `${server.url}/.well-known/oauth-protected-resource`
  const bearerAlone = `Bearer realm="${server.url}", scope="read", resource_metadata="${metadata}"`
  const algs = 'ES256 ES384 ES512 Ed25519 EdDSA PS256 PS384 PS512'
  const bare = `${bearerAlone}, ${bearerAlone.replace('Bearer', 'DPoP').replace(' scope', ` algs="${algs}", scope`)}`

  test('without a token: 401 and no error code', async () => {
    expect(await refusal('/books')).toEqual([401, bare])
    expect(await refusal('/books', { headers: client.basic })).toEqual([401, bare])
  })

  test('names the metadata of the default resource, which is the issuer (RFC 9728)', async () => {
    expect(await (await server.get(metadata)).json()).toEqual({
      resource: server.url,
      authorization_servers: [server.url],
      bearer_methods_supported: ['header'],
      dpop_signing_alg_values_supported: algs.split(' '),
      scopes_supported: ['read', 'write', 'play'],
    })
  })

  test('too little: 403 insufficient_scope with all the scopes that are needed', async () => {
    const headers = bearer(await tokenOf('read'))
    const [status, challenge] = await refusal('/books', { method: 'PUT', headers })
    expect(status).toBe(403)
    expect(challenge).toContain('error="insufficient_scope"')
    expect(challenge).toContain('scope="read write"')
    const response = await server.request('/books', { method: 'PUT', headers })
    expect(response.headers.get('content-type')).toBe('application/json')
    expect(await response.json()).toMatchObject({ error: 'insufficient_scope' })
  })

  test.each(['x', 'a.b.c', 'lka_x', `lka_${'A'.repeat(43)}`, `lka_${'A'.repeat(64)}`])(
    '%s: 401 invalid_token',
    async (token) => {
      const [status, challenge] = await refusal('/books', { headers: bearer(token) })
      expect(status).toBe(401)
      expect(challenge).toContain('error="invalid_token"')
    },
  )

  test('two tokens: 400 invalid_request', async () => {
    const token = await tokenOf('read')
    const [status, challenge] = await refusal(`/books?access_token=${token}`, { headers: bearer(token) })
    expect(status).toBe(400)
    expect(challenge).toContain('error="invalid_request"')
  })

  test('a token in the query is not read here', async () => {
    expect(await refusal(`/books?access_token=${await tokenOf('read')}`)).toEqual([401, bare])
  })

  test('the wrong method is 405 with Allow, with a token or without', async () => {
    for (const headers of [{}, bearer(await tokenOf('read'))]) {
      const response = await server.request('/books', { method: 'DELETE', headers })
      expect([response.status, response.headers.get('allow')]).toEqual([405, 'GET, HEAD, PUT'])
    }
  })
})

describe('a token that is not good here', () => {
  test('for another audience, even where it has the scope', async () => {
    const token = await tokenOf('play')
    expect(await statusWith(server, '/music', token)).toBe(401)
    expect(await statusWith(server, '/any', token)).toBe(401)
    expect(await statusWith(server, '/any', await tokenOf('read play'))).toBe(200)
  })

  test.each([client, opaque])('revoked, by $clientId', async (owner) => {
    const token = await tokenOf('read', owner)
    expect(await statusWith(server, '/books', token)).toBe(200)
    await server.post('/revoke', { token }, owner.basic)
    expect(await statusWith(server, '/books', token)).toBe(401)
  })

  test.each(['jwt', 'opaque'])('%s of a client that was deleted', async (access_token_format) => {
    const gone = await createClient(server, { scope: ['read'], access_token_format })
    const token = await tokenOf('read', gone)
    expect(await statusWith(server, '/books', token)).toBe(200)
    await server.server.oauth.clients.delete(gone.clientId)
    expect(await statusWith(server, '/books', token)).toBe(401)
  })

  test('of an Authorization that was revoked', async () => {
    const app = await createClient(server, { scope: ['read'], grant_types: [USER_GRANT] })
    const form = { grant_type: USER_GRANT, scope: 'read', user: 'ada' }
    const { access_token } = await getToken(server, app, form)
    expect(await statusWith(server, '/books', access_token)).toBe(200)
    const { authorization } = (await server.server.oauth.verify(access_token))!
    await server.server.oauth.revoke(authorization!.id!, 'test')
    expect(await statusWith(server, '/books', access_token)).toBe(401)
  })
})
