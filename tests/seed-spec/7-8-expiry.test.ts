/** seed-spec.md §1.4, §7 and §8: how long an access token lives, and what happens after. */
import { describe, expect, test } from 'vitest'
import { bearer } from '../support/requests.ts'
import { createDatabase } from '../support/database.ts'
import { requestTokens, seedToken, startSeedServer, tokenRequest, userTokens } from './server.ts'

describe('§7 Errors', () => {
  test('an access token that is used after it has expired is refused with 401', async () => {
    const server = await startSeedServer({ OIDC_TOKEN_EXPIRE: 0 })
    const response = await server.get('/books', bearer(await seedToken(server)))
    expect(response.status).toBe(401)
    expect(response.headers.get('www-authenticate')).toContain('error="invalid_token"')
  })

  test('the client then uses its refresh token at the token endpoint to get a new access token', async () => {
    const database = await createDatabase()
    const expiring = await startSeedServer({ OIDC_TOKEN_EXPIRE: 0 }, {}, database)
    const { access_token, refresh_token } = await userTokens(expiring)
    const path = '/userinfo/?access_token='
    expect((await expiring.get(path + access_token)).status).toBe(401)
    await expiring.close()

    // The same server, whose tokens now live for an hour: nobody has to wait.
    const server = await startSeedServer({ ...expiring.settings, OIDC_TOKEN_EXPIRE: 3600 }, {}, database)
    expect((await server.get(path + access_token)).status).toBe(401)
    const response = await requestTokens(server, { grant_type: 'refresh_token', refresh_token })
    const renewed = (await response.json()) as { access_token: string }
    expect((await server.get(path + renewed.access_token)).status).toBe(200)
    await server.close()
    await database.drop()
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
