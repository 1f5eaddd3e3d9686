/** seed-spec.md §1.4, §7 and §8: how long an access token lives, and what happens after. */
import { describe, expect, test } from 'vitest'
import { bearer } from '../support/requests.ts'
import { seedToken, startSeedServer, tokenRequest } from './server.ts'

describe('§7 Errors', () => {
  test('an access token that is used after it has expired is refused with 401', async () => {
    const server = await startSeedServer({ OIDC_TOKEN_EXPIRE: 0 })
    const response = await server.get('/books', bearer(await seedToken(server)))
    expect(response.status).toBe(401)
    expect(response.headers.get('www-authenticate')).toContain('error="invalid_token"')
  })
})

describe('§8 Limits', () => {
  test('a couple of hours at most, unless set', async () => {
    const server = await startSeedServer()
    const response = await server.request('/token/', tokenRequest())
    const { expires_in } = (await response.json()) as { expires_in: number }
    expect(expires_in).toBeGreaterThan(0)
    expect(expires_in).toBeLessThanOrEqual(2 * 3600)
  })

  test('OIDC_TOKEN_EXPIRE is the lifetime, and expires_in reports it in seconds', async () => {
    const server = await startSeedServer({ OIDC_TOKEN_EXPIRE: '7200' })
    const response = await server.request('/token/', tokenRequest())
    const { expires_in, access_token } = (await response.json()) as Record<string, string>
    expect(expires_in).toBe(7200)
    const claims = JSON.parse(Buffer.from(access_token!.split('.')[1]!, 'base64url').toString())
    expect(claims.exp - claims.iat).toBe(7200)
  })
})
