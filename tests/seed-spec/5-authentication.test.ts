/** seed-spec.md §5, items 1 and 2: how a client authenticates at the token endpoint. */
import { describe, expect, test } from 'vitest'
import { client, startSeedServer, tokenRequest } from './server.ts'

const server = await startSeedServer()

describe('§5.1 client_id and client_secret as form parameters', () => {
  test('the right secret is accepted, a wrong one refused', async () => {
    const { client_id, client_secret } = client
    const form = { grant_type: 'client_credentials', client_id, client_secret }
    expect((await server.post('/token/', form)).status).toBe(200)
    expect((await server.post('/token/', { ...form, client_secret: 'wrong' })).status).toBe(401)
  })
})

describe('§5.2 Authorization: Basic', () => {
  test('client ID and secret, base64-encoded, with the body grant_type=client_credentials', async () => {
    const response = await server.request('/token/', tokenRequest())
    expect(response.status).toBe(200)
    expect(await response.json()).toMatchObject({ token_type: 'Bearer', scope: 'read_books write_books' })
  })

  test('a wrong secret is 401 invalid_client with a Basic challenge', async () => {
    const response = await server.request('/token/', tokenRequest(client.client_id, 'wrong'))
    expect(response.status).toBe(401)
    expect(response.headers.get('www-authenticate')).toMatch(/^Basic realm="/)
    expect(await response.json()).toMatchObject({ error: 'invalid_client' })
  })

  test('without credentials there is no token', async () => {
    const response = await server.post('/token/', { grant_type: 'client_credentials' })
    expect(response.status).toBe(401)
  })
})
