/** Global Token Revocation where the database goes away or does not answer, and what is done then: everything or nothing, and no JWT is used up in vain. @needs latchkey-global-token-revocation */
import { expect, test } from 'vitest'
import { kernelOf } from '../../../src/http/kernel-of.ts'
import { createDatabase } from '../../support/database.ts'
import { startDatabaseProxy } from '../../support/database-proxy.ts'
import { ask, bySubject, link, ON, PATH, startIdp, vouch } from '../../support/global-token-revocation.ts'
import { isThere } from '../../support/left-out.ts'
import { bearer } from '../../support/requests.ts'
import { startServer } from '../../support/server.ts'
import { getTokens, SEED } from '../../support/sign-in.ts'

const corp = await startIdp()
const CORP = { id: 'corp', issuer: corp.issuer, client_id: 'us', client_secret: 'x' }
const database = await createDatabase()
const proxy = await startDatabaseProxy(database.url)
const server = await startServer(
  { ...ON, DATABASE_URL: proxy.url, UNSAFE_OUTBOUND_ORIGINS: corp.issuer, OIDC_JANITOR_INTERVAL: 0 },
  { database: { ...database, url: proxy.url }, seed: { ...SEED, upstreams: [CORP] } },
)
const { oauth } = server.server
const alice = (await oauth.users.find('alice'))!
await link(server, alice.id, CORP, 'a')
const jwtOf = async () => vouch(corp, 'us', `${server.url}${PATH}`)
const revoke = async (jwt: string) => ask(server, jwt, bySubject(corp.issuer, 'a'))
const userinfo = async (token: string) => (await server.get('/userinfo', bearer(token))).status

test.runIf(isThere('latchkey-upstreams'))(
  'where the database goes away before the end nothing is done, and the same JWT does it when it is back',
  async () => {
    const { access_token: token } = await getTokens(server)
    const jwt = await jwtOf()
    proxy.cutAt('authorizations-end', 'before')
    const refused = await revoke(jwt)
    expect([refused.status, refused.headers.has('retry-after')]).toEqual([503, true])
    expect(await userinfo(token)).toBe(200)
    expect((await revoke(jwt)).status).toBe(204)
    expect([await userinfo(token), (await revoke(jwt)).status]).toEqual([401, 401])
  },
)

test.runIf(isThere('latchkey-upstreams'))(
  'where only the answer is lost all of it is done, and the JWT is used up with it',
  async () => {
    const { access_token: token } = await getTokens(server)
    const jwt = await jwtOf()
    proxy.cutAt('authorizations-end', 'after')
    expect((await revoke(jwt)).status).toBe(503)
    expect((await revoke(jwt)).status).toBe(401)
    expect(await userinfo(token)).toBe(401)
  },
)

test.runIf(isThere('latchkey-upstreams'))(
  'while it does not answer, who asks is told to come back',
  async () => {
    const jwt = await jwtOf()
    expect((await revoke(await jwtOf())).status).toBe(204)
    proxy.stall()
    const refused = await revoke(jwt)
    expect([refused.status, refused.headers.has('retry-after')]).toEqual([503, true])
    await proxy.restore()
    await expect.poll(async () => (await revoke(await jwtOf())).status).toBe(204)
  },
)

test('a sign-in that was under way begins no session', async () => {
  const { sessions } = kernelOf(server.server)
  const user = (await oauth.users.find('alice'))!
  const signIn = { user, amr: ['pwd'], acr: '1', userAgent: null, address: null, authenticatedAt: Date.now() }
  expect(await oauth.users.revokeTokens({ id: user.id })).toBe(true)
  expect(await sessions.start(signIn as never)).toBeNull()
  const now = (await oauth.users.find('alice'))!
  expect(await sessions.start({ ...signIn, user: now } as never)).not.toBeNull()
})
