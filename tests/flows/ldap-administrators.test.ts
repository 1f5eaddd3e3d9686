/**
 * Administrators of a directory: who is removed or demoted there is none here any more, neither on pages nor by tokens, and comes back by nothing else.
 * @needs latchkey-ldap latchkey-admin latchkey-admin-api latchkey-passkeys
 */
import { afterEach, beforeAll, describe, expect, test, vi } from 'vitest'
import { callerWith, ROOT } from '../support/admin-api.ts'
import { passTime } from '../support/clocks.ts'
import { basic } from '../support/requests.ts'
import type { TestServer } from '../support/server.ts'
import { authorize, REDIRECT_URI, SEED, WEB } from '../support/sign-in.ts'
import { GROUPS, noSlapd, PEOPLE, type Slapd, startSlapd } from '../support/slapd.ts'
import { createUserAgent, findForm, type UserAgent } from '../support/user-agent.ts'
import { signedIn } from '../plugins/account/owner.ts'
import { addPasskey, signInWith, startAtLocalhost } from '../plugins/passkeys/passkeys.ts'

const CONSOLE = { ...WEB, client_id: 'console', scope: ['latchkey:users:read'] }
const OPERATORS = `cn=operators,${GROUPS}`
/** Seconds. */
const RECHECK = 60

describe.skipIf(noSlapd)('an administrator of a directory', () => {
  let slapd: Slapd
  let server: TestServer

  beforeAll(async () => {
    slapd = await startSlapd()
    const names = ['standing', 'demoted', 'removed', 'leaver', 'lasting']
    for (const uid of names) await slapd.add({ uid, password: passwordOf(uid) })
    await slapd.change(async (client) =>
      client.add(OPERATORS, {
        objectClass: 'groupOfNames',
        cn: 'operators',
        member: names.map((uid) => `uid=${uid},${PEOPLE}`),
      }),
    )
    server = await startAtLocalhost(
      {
        ...slapd.settings,
        LDAP_ROLES: `admin=${OPERATORS}`,
        LDAP_RECHECK: RECHECK,
        ADMIN_API: 'on',
      },
      { seed: { ...SEED, users: [...SEED.users, ROOT], clients: [...SEED.clients, CONSOLE] } },
    )
  })
  afterEach(() => void vi.useRealTimers())

  const passwordOf = (uid: string): string => `the password of ${uid}`
  const userOf = (uid: string) => ({ username: uid, password: passwordOf(uid) })
  const later = (): void => passTime((RECHECK + 1) * 1000)

  async function tokenOf(uid: string): Promise<string> {
    const resource = `${server.url}/admin/api/v1`
    const asked = { client_id: CONSOLE.client_id, scope: 'openid latchkey:users:read', resource }
    const code = (await authorize(server, asked, undefined, userOf(uid))).get('code')!
    const form = { grant_type: 'authorization_code', code, redirect_uri: REDIRECT_URI }
    const answer = await server.post('/token', form, basic(CONSOLE.client_id, CONSOLE.client_secret))
    return ((await answer.json()) as { access_token: string }).access_token
  }

  const administration = async (agent: UserAgent) => agent.get(`${server.url}/admin`)
  const userNow = async (uid: string) => server.server.oauth.users.find(uid)

  async function removeFrom(group: string, uid: string): Promise<void> {
    const { Attribute, Change } = await import('ldapts')
    const modification = new Attribute({ type: 'member', values: [`uid=${uid},${PEOPLE}`] })
    await slapd.change(async (client) =>
      client.modify(group, new Change({ operation: 'delete', modification })),
    )
  }

  test('who is demoted there is none at the next look, on pages and by the token that they have', async () => {
    const agent = await signedIn(server, userOf('demoted'))
    const call = callerWith(server, await tokenOf('demoted'))
    expect((await administration(agent)).status).toBe(200)
    expect((await call('GET', '/users')).status).toBe(200)
    await removeFrom(OPERATORS, 'demoted')
    later()
    expect((await call('GET', '/users')).body).toMatchObject({ error: 'access_denied' })
    expect((await administration(agent)).status).toBe(403)
    expect(await userNow('demoted')).toMatchObject({ roles: [], disabled: false })
  })

  test('the page asks by itself, whatever else they do', async () => {
    const agent = await signedIn(server, userOf('removed'))
    expect((await administration(agent)).status).toBe(200)
    await slapd.change(async (client) => client.del(`uid=removed,${PEOPLE}`))
    later()
    expect((await administration(agent)).status).toBe(403)
    expect(await userNow('removed')).toMatchObject({ disabled: true })
    expect(findForm(await administration(agent), 'login')).toBeDefined()
  })

  test('who is gone does not come back by a passkey', async () => {
    const { passkey } = await addPasskey(server, await signedIn(server, userOf('leaver')))
    const before = createUserAgent(server.url)
    await signInWith(before, await before.get(`${server.url}/sign-in`), passkey)
    expect((await administration(before)).status).toBe(200)
    await slapd.change(async (client) => client.del(`uid=leaver,${PEOPLE}`))
    later()
    const agent = createUserAgent(server.url)
    const refused = await signInWith(agent, await agent.get(`${server.url}/sign-in`), passkey)
    expect(refused.status).toBe(403)
    expect(findForm(refused, 'login')).toBeDefined()
    expect(findForm(await agent.get(`${server.url}/account`), 'login')).toBeDefined()
    expect(await userNow('leaver')).toMatchObject({ disabled: true })
  })

  test('what has changed there keeps nobody from coming by a passkey', async () => {
    const { passkey } = await addPasskey(server, await signedIn(server, userOf('standing')))
    const dn = `uid=standing,${PEOPLE}`
    const { Attribute, Change } = await import('ldapts')
    const modification = new Attribute({ type: 'displayName', values: ['Standing Firm'] })
    await slapd.change(async (client) => client.modify(dn, new Change({ operation: 'add', modification })))
    later()
    const agent = createUserAgent(server.url)
    await signInWith(agent, await agent.get(`${server.url}/sign-in`), passkey)
    expect((await administration(agent)).status).toBe(200)
    expect(await userNow('standing')).toMatchObject({ claims: { name: 'Standing Firm' } })
  })

  test('while the directory is away all stays as it was, and it is asked of nobody else', async () => {
    const agent = await signedIn(server, userOf('lasting'))
    const call = callerWith(server, await tokenOf('lasting'))
    later()
    await slapd.stop()
    try {
      expect((await administration(agent)).status).toBe(200)
      expect((await call('GET', '/users')).status).toBe(200)
    } finally {
      await slapd.start()
    }
    const searches = () => slapd.log().match(/ SRCH /g)?.length
    const before = searches()
    const root = await signedIn(server, ROOT)
    expect((await administration(root)).status).toBe(200)
    expect(searches()).toBe(before)
  })
})
