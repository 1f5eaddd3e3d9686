/** Token revocation (RFC 7009): what a client gives back is dead, and nothing else is. */
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { kernelOf } from '../../../src/http/kernel-of.ts'
import { createClient, getToken, introspect, statusWith } from '../../support/clients.ts'
import { basic } from '../../support/requests.ts'
import { startServer } from '../../support/server.ts'
import { freePort } from '../../support/settings.ts'
import { addUserGrant, USER_GRANT } from '../../support/user-grant.ts'

const server = await startServer(
  { OIDC_INTROSPECTION_VALIDATE_AUDIENCE_SCOPE: false },
  {
    extend: (instance) => {
      addUserGrant(instance)
      instance.get('/guarded', { config: { scope: 'a' } }, async () => ({ fine: true }))
    },
  },
)
const client = await createClient(server, { scope: ['a'] })
const other = await createClient(server, { scope: ['a'] })
const opaque = await createClient(server, { scope: ['a'], access_token_format: 'opaque' })

async function isGood(token: string, owner = client): Promise<boolean> {
  const { active } = await introspect(server, owner, token)
  const status = await statusWith(server, '/guarded', token)
  expect(status).toBe(active === true ? 200 : 401)
  return active === true
}

async function revoke(form: Record<string, string>, { basic } = client): Promise<string> {
  const response = await server.post('/revoke', form, basic)
  return `${response.status} ${await response.text()}`
}

describe.each([
  { format: 'JWT', owner: client },
  { format: 'opaque token', owner: opaque },
])('a client gives back its $format', ({ owner }) => {
  test('200 {}, and the token is dead at once, at a guarded route and at introspection', async () => {
    const { access_token: token } = await getToken(server, owner)
    const { access_token: kept } = await getToken(server, owner)
    expect(await isGood(token, owner)).toBe(true)
    expect(await revoke({ token }, owner)).toBe('200 {}')
    expect(await isGood(token, owner)).toBe(false)
    expect(await isGood(kept, owner)).toBe(true)
  })

  test('a second time is no error', async () => {
    const { access_token: token } = await getToken(server, owner)
    expect([await revoke({ token }, owner), await revoke({ token }, owner)]).toEqual(['200 {}', '200 {}'])
    expect(await isGood(token, owner)).toBe(false)
  })

  test('many times at once neither', async () => {
    const { access_token: token } = await getToken(server, owner)
    const answers = await Promise.all(Array.from({ length: 10 }, async () => revoke({ token }, owner)))
    expect(new Set(answers)).toEqual(new Set(['200 {}']))
  })

  test('token_type_hint changes nothing, right or wrong', async () => {
    for (const token_type_hint of ['access_token', 'refresh_token', 'nonsense']) {
      const { access_token: token } = await getToken(server, owner)
      expect(await revoke({ token, token_type_hint }, owner)).toBe('200 {}')
      expect(await isGood(token, owner)).toBe(false)
    }
  })

  test("another client's is refused, and stays good", async () => {
    const { access_token: token } = await getToken(server, owner)
    expect(await revoke({ token }, other)).toMatch(/^400 \{"error":"invalid_grant"/)
    expect(await isGood(token, owner)).toBe(true)
  })
})

test('a JWT from client_credentials has no row until it is revoked, and then one that ends with it', async () => {
  const own = await startServer()
  const service = await createClient(own, { scope: ['a'] })
  const { access_token: token } = await getToken(own, service)
  const rows = async () =>
    own.database.query<{ jti: string; expires_at: Date }>('select * from revoked_tokens')
  expect(await own.database.query('select 1 from access_tokens')).toEqual([])
  expect(await rows()).toEqual([])
  await own.post('/revoke', { token }, service.basic)
  const { jti, exp } = JSON.parse(Buffer.from(token.split('.')[1]!, 'base64url').toString())
  const [row] = await rows()
  expect(row?.jti).toBe(jti)
  expect(row?.expires_at.getTime()).toBeGreaterThanOrEqual(exp * 1000)
})

test('a revocation is durable: a server that starts on the same database knows it', async () => {
  const { access_token: token } = await getToken(server, client)
  await revoke({ token })
  const port = await freePort()
  const second = await startServer({ ...server.settings, PORT: port }, { database: server.database })
  const at = `http://127.0.0.1:${port}/introspect`
  expect(await (await second.post(at, { token }, client.basic)).json()).toEqual({ active: false })
  await second.close()
})

test('a revoked one stays so where the clock was ahead for a while, and others were revoked meanwhile', async () => {
  const { access_token: token } = await getToken(server, client)
  await revoke({ token })
  // Once it was read with what other processes have changed, it is not read again.
  const [{ feed }, from] = [kernelOf(server.server), performance.now()]
  await expect.poll(() => performance.now() - feed.age()! * 1000).toBeGreaterThan(from)
  onTestFinished(() => void vi.useRealTimers())
  vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + 30 * 3_600_000 })
  await revoke({ token: (await getToken(server, client)).access_token })
  vi.useRealTimers()
  expect(await isGood(token)).toBe(false)
})

describe('a token that is not there to revoke: 200 {}', () => {
  test.each(['x', 'a.b.c', 'lka_', `lka_${'A'.repeat(43)}`, `lka_${'A'.repeat(64)}`, 'é', '..'])(
    '%j',
    async (token) => {
      expect(await revoke({ token })).toBe('200 {}')
    },
  )

  test('one that was changed, which leaves the real one good', async () => {
    const { access_token: token } = await getToken(server, client)
    expect(await revoke({ token: `${token.slice(0, -4)}AAAA` })).toBe('200 {}')
    expect(await isGood(token)).toBe(true)
  })

  test('one that has expired', async () => {
    const short = await startServer({ OIDC_TOKEN_EXPIRE: 0 })
    for (const access_token_format of ['jwt', 'opaque']) {
      const service = await createClient(short, { scope: ['a'], access_token_format })
      const { access_token: token } = await getToken(short, service)
      const response = await short.post('/revoke', { token }, service.basic)
      expect([response.status, await response.text()]).toEqual([200, '{}'])
    }
    await short.close()
  })
})

describe('the caller', () => {
  test('must authenticate', async () => {
    const { access_token: token } = await getToken(server, client)
    for (const headers of [{}, basic(client.clientId, 'wrong')]) {
      const response = await server.post('/revoke', { token }, headers)
      expect(response.status).toBe(401)
      expect(await response.json()).toMatchObject({ error: 'invalid_client' })
    }
    expect(await isGood(token)).toBe(true)
  })

  test('that is public may give back its own tokens, naming itself', async () => {
    const metadata = { token_endpoint_auth_method: 'none', scope: ['a'], grant_types: [USER_GRANT] }
    const { clientId: client_id } = await createClient(server, metadata)
    const form = { grant_type: USER_GRANT, scope: 'a', user: 'ada', client_id }
    const { access_token: token } = (await (await server.post('/token', form)).json()) as {
      access_token: string
    }
    expect(await statusWith(server, '/guarded', token)).toBe(200)
    expect((await server.post('/revoke', { token, client_id })).status).toBe(200)
    expect(await statusWith(server, '/guarded', token)).toBe(401)
  })

  test('that forgets the token is told so', async () => {
    expect(await revoke({})).toMatch(/^400 \{"error":"invalid_request"/)
  })
})

test.each(['/revoke', '/revoke/'])('%s: headers, and no other method', async (path) => {
  const response = await server.post(path, { token: 'x' }, client.basic)
  expect(response.headers.get('content-type')).toBe('application/json')
  expect(response.headers.get('cache-control')).toBe('no-store')
  const refused = await server.get(`${path}?token=x`, client.basic)
  expect([refused.status, refused.headers.get('allow')]).toEqual([405, 'POST'])
})
