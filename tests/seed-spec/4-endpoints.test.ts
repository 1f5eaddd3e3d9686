/** seed-spec.md §4.2, §4.4 and §4.5 as far as they concern client_credentials. */
import { describe, expect, test } from 'vitest'
import { basic, bearer } from '../support/requests.ts'
import { freePort } from '../support/settings.ts'
import { client, seedToken, startSeedServer, tokenRequest, userTokens } from './server.ts'

const server = await startSeedServer()

describe('§4 Endpoints', () => {
  test('paths are relative to {base_url}', async () => {
    const port = await freePort()
    const base = `http://127.0.0.1:${port}/some/base`
    const below = await startSeedServer({ PORT: port, OIDC_ISSUER: base })
    const { access_token } = await userTokens(below)
    expect((await fetch(`${base}/userinfo/?access_token=${access_token}`)).status).toBe(200)
    expect((await fetch(`http://127.0.0.1:${port}/userinfo/`)).status).toBe(404)
  })
})

describe('§4.2 POST /token/', () => {
  test.each(['/token/', '/token'])('the token endpoint is addressed as %s', async (path) => {
    const response = await server.request(path, tokenRequest())
    expect(response.status).toBe(200)
    expect(response.redirected).toBe(false)
  })

  test('the client may also send client_id and client_secret in the body', async () => {
    const { client_id, client_secret } = client
    const form = { grant_type: 'client_credentials', client_id, client_secret }
    const response = await server.post('/token/', form, { 'cache-control': 'no-cache' })
    expect(response.status).toBe(200)
  })

  test("the scope of the token comes from the client's scope field", async () => {
    const response = await server.request('/token/', tokenRequest())
    expect(await response.json()).toMatchObject({ scope: 'read_books write_books' })
  })

  test("nothing is issued beyond what was arranged through the client's scope field", async () => {
    const form = { grant_type: 'client_credentials', scope: 'read_books shelve_books' }
    const response = await server.post('/token/', form, basic(client.client_id, client.client_secret))
    expect(response.status).toBe(400)
    expect(await response.json()).toMatchObject({ error: 'invalid_scope' })
  })
})

describe('§4.4 Protected resources', () => {
  test('a valid token with the scope gets HTTP 200 and a JSON object', async () => {
    const response = await server.get('/books', bearer(await seedToken(server)))
    expect(response.status).toBe(200)
    expect(response.headers.get('content-type')).toMatch(/^application\/json/)
    expect(await response.json()).toEqual({ books: [] })
  })

  test('several scopes can be required, and all of them are', async () => {
    const token = await seedToken(server)
    const response = await server.get('/ledger', bearer(token))
    expect(response.status).toBe(403)
    expect(response.headers.get('www-authenticate')).toContain('scope="read_books read_ledger"')

    const stored = await server.server.oauth.clients.find(client.client_id)
    await server.server.oauth.clients.save({ ...stored, scope: ['read_books', 'write_books', 'read_ledger'] })
    const all = await server.get('/ledger', bearer(await seedToken(server)))
    await server.server.oauth.clients.save(stored!)
    expect(all.status).toBe(200)
  })

  test('without a token there is nothing to see', async () => {
    expect((await server.get('/books')).status).toBe(401)
  })

  test.each(['POST', 'PUT', 'DELETE'])('the endpoint is GET-only: %s is 405', async (method) => {
    const response = await server.request('/books', { method, headers: bearer(await seedToken(server)) })
    expect(response.status).toBe(405)
    expect(response.headers.get('allow')).toBe('GET, HEAD')
  })
})

describe('§4.5 Token introspection', () => {
  const credentials = basic(client.client_id, client.client_secret)

  test('a client credentials token does not validate while the setting has its default', async () => {
    const response = await server.post('/introspect', { token: await seedToken(server) }, credentials)
    expect([response.status, await response.json()]).toEqual([200, { active: false }])
  })

  test.each(['True', 'true', 'TRUE'])('nor when the setting is %s', async (value) => {
    const strict = await startSeedServer({ OIDC_INTROSPECTION_VALIDATE_AUDIENCE_SCOPE: value })
    const response = await strict.post('/introspect', { token: await seedToken(strict) }, credentials)
    expect(await response.json()).toEqual({ active: false })
    await strict.close()
  })

  test.each(['False', 'false', 'FALSE'])('it validates when the setting is %s', async (value) => {
    const open = await startSeedServer({ OIDC_INTROSPECTION_VALIDATE_AUDIENCE_SCOPE: value })
    const response = await open.post('/introspect', { token: await seedToken(open) }, credentials)
    const body = await response.json()
    expect(body).toMatchObject({ active: true, client_id: client.client_id, scope: 'read_books write_books' })
    await open.close()
  })
})
