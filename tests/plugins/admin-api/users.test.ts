/** Users by the interface of the administration: registered, changed, looked at and ended. */
import { describe, expect, test } from 'vitest'
import { kernelOf } from '../../../src/http/kernel-of.ts'
import { callerAs, startApi } from '../../support/admin-api.ts'
import { isThere } from '../../support/left-out.ts'
import { bearer } from '../../support/requests.ts'
import { startBeside } from '../../support/server.ts'
import { ALICE, getTokens, refresh } from '../../support/sign-in.ts'
import { until } from '../../support/until.ts'
import { createUserAgent } from '../../support/user-agent.ts'
import { open, signedIn } from '../account/owner.ts'

const server = await startApi()
const { oauth } = server.server
const call = await callerAs(server, 'people')
const alice = (await oauth.users.find('alice'))!
let count = 0

/** Somebody new, as the interface answers. */
async function somebody(members: object = {}) {
  const { status, body } = await call('POST', '/users', { username: `person-${++count}`, ...members })
  if (status !== 201) throw new Error(`nobody was registered: ${JSON.stringify(body)}`)
  return body as { sub: string; username: string }
}

describe('registered', () => {
  test('they are as they were said to be, and sign in', async () => {
    const made = await call('POST', '/users', {
      username: 'Zoe',
      password: 'a password of zoe',
      roles: ['staff'],
      name: 'Zoe Example',
      email: 'zoe@example.com',
      email_verified: true,
    })
    expect(made.status).toBe(201)
    expect(made.headers.get('cache-control')).toBe('no-store')
    expect(made.body).toEqual({
      sub: expect.any(String),
      username: 'Zoe',
      roles: ['staff'],
      disabled: false,
      name: 'Zoe Example',
      email: 'zoe@example.com',
      email_verified: true,
    })
    expect((await call('GET', `/users/${made.body.sub}`)).body).toEqual(made.body)
    await signedIn(server, { username: 'zoe', password: 'a password of zoe' })
    const [event] = (await oauth.audit.list({ type: 'user.registered', user: made.body.sub })).events
    expect(event!.actor).toEqual({ kind: 'client', id: 'people' })
    expect(server.output()).not.toContain('a password of zoe')
  })

  test.each([
    [{}, 'username'],
    [{ username: 'eve', pasword: 'x' }, 'pasword'],
    [{ username: 'eve', sub: 'mine' }, 'sub'],
    [{ username: 'eve', disabled: 'yes' }, 'disabled'],
    [{ username: 'eve', password: 'password' }, 'password'],
    [{ username: 'eve', email: 'nowhere' }, 'email'],
    [{ username: 'eve', roles: 'staff' }, 'roles'],
    [{ username: 'eve', roles: null }, 'roles'],
    [{ username: 'eve', password: null }, 'password'],
    [{ username: 'eve', disabled: null }, 'disabled'],
  ])('%j is refused by its member', async (members, member) => {
    const { status, body } = await call('POST', '/users', members)
    expect([status, body.error]).toEqual([400, 'invalid_request'])
    expect(body.problems).toEqual([{ member, reason: expect.any(String) }])
    expect(await oauth.users.find('eve')).toBeNull()
  })

  test.each([
    [{ username: 'ALICE' }, 'username'],
    [{ username: 'eve', email: 'Alice@example.com', email_verified: true }, 'email'],
  ])('%j is a conflict with who is there', async (members, member) => {
    const { status, body } = await call('POST', '/users', members)
    expect([status, body.error, body.problems[0].member]).toEqual([409, 'conflict', member])
  })

  test('of two at once with one name, one is', async () => {
    const both = await Promise.all([1, 2].map(async () => call('POST', '/users', { username: 'twin' })))
    expect(both.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([201, 409])
  })

  test('disabled from the beginning, they do not sign in until somebody lets them', async () => {
    const { sub } = await somebody({ username: 'later', password: 'a password of later', disabled: true })
    await expect(signedIn(server, { username: 'later', password: 'a password of later' })).rejects.toThrow(
      'not signed in',
    )
    expect((await call('PATCH', `/users/${sub}`, { disabled: false })).body.disabled).toBe(false)
    await signedIn(server, { username: 'later', password: 'a password of later' })
  })
})

describe('a list', () => {
  test('goes on where the one before ended, and finds by name, address and beginning', async () => {
    for (const name of ['m-1', 'm-2', 'm-3', 'M-4']) await somebody({ username: name })
    const seen: string[] = []
    for (let next: string | undefined = ''; next !== undefined;) {
      const page = await call('GET', `/users?limit=3${next === '' ? '' : `&after=${next}`}`)
      expect(page.body.users.length).toBeLessThanOrEqual(3)
      seen.push(...page.body.users.map(({ username }: { username: string }) => username))
      next = page.body.next
    }
    expect(seen).toEqual((await oauth.users.list({ limit: 1000 })).map(({ username }) => username))
    const found = await call('GET', '/users?search=m-&limit=3')
    const rest = await call('GET', `/users?search=m-&limit=3&after=${found.body.next}`)
    const names = [...found.body.users, ...rest.body.users].map(
      ({ username }: { username: string }) => username,
    )
    expect([names, rest.body.next]).toEqual([['m-1', 'm-2', 'm-3', 'M-4'], undefined])
    const one = [{ sub: alice.id }]
    expect((await call('GET', '/users?username=ALICE')).body.users).toMatchObject(one)
    expect((await call('GET', '/users?email=Alice@example.com')).body.users).toMatchObject(one)
    expect((await call('GET', '/users?email=alice@example.com&username=alice')).body.users).toMatchObject(one)
    for (const query of ['email=alice@example.com&username=bob', 'email=bob@example.com', 'username=nobody'])
      expect((await call('GET', `/users?${query}`)).body).toEqual({ users: [] })
  })

  test.each([
    'limit=0',
    'limit=101',
    'limit=x',
    'after=x',
    'after=e30',
    `after=${Buffer.from('{"after":["a","b"]}').toString('base64url')}`,
    `after=${Buffer.from('{"after":["\\u0000"]}').toString('base64url')}`,
    'search=a&after=eyJhZnRlciI6WyJhIl19',
    'search=a&search=b',
  ])('%s is refused', async (query) => {
    const { status, body } = await call('GET', `/users?${query}`)
    expect([status, body.error]).toEqual([400, 'invalid_request'])
  })
})

describe('changed', () => {
  test('claims are laid over those that are there, and what is null is taken away', async () => {
    const { sub } = await somebody({ nickname: 'Al', name: 'Al Example' })
    const { body } = await call('PATCH', `/users/${sub}`, {
      nickname: null,
      roles: ['staff'],
      zoneinfo: 'Europe/Rome',
    })
    expect(body).toMatchObject({ name: 'Al Example', roles: ['staff'], zoneinfo: 'Europe/Rome' })
    expect(body).not.toHaveProperty('nickname')
  })

  test('what was read may be sent back as it is', async () => {
    const user = (await call('GET', `/users/${alice.id}`)).body
    const { status, body } = await call('PATCH', `/users/${alice.id}`, { ...user, nickname: 'Ally' })
    expect([status, body]).toEqual([200, { ...user, nickname: 'Ally' }])
    for (const other of [{ sub: 'another' }, { username: 'bob' }, { deletes_at: '2030-01-01T00:00:00Z' }])
      expect((await call('PATCH', `/users/${alice.id}`, { ...user, ...other })).body.problems[0].member).toBe(
        Object.keys(other)[0],
      )
  })

  test('another user name is theirs in every process, sessions and tokens go on, and sub stays', async () => {
    const beside = await startBeside(server)
    const person = { username: 'former', password: 'a password of former' }
    const { sub } = await somebody(person)
    const agent = await signedIn(server, person)
    const tokens = await getTokens(server, { scope: 'openid profile' }, agent)
    const { status, body } = await call('PATCH', `/users/${sub}`, { username: ' Latter ', nickname: 'L' })
    expect([status, body]).toMatchObject([200, { sub, username: 'Latter', nickname: 'L' }])
    expect((await call('GET', '/users?username=LATTER')).body.users).toEqual([body])
    expect((await call('GET', '/users?username=former')).body.users).toEqual([])
    for (const { get } of [server, beside])
      await until(async () =>
        expect(await (await get('/userinfo', bearer(tokens.access_token))).json()).toMatchObject({
          sub,
          preferred_username: 'Latter',
        }),
      )
    expect((await open(server, agent)).url).not.toContain('/sign-in')
    const [event] = (await oauth.audit.list({ type: 'user.changed', user: sub })).events
    expect(event).toMatchObject({
      actor: { kind: 'client', id: 'people' },
      details: { changes: { username: ['former', 'Latter'] } },
    })
    expect((await call('PATCH', `/users/${sub}`, { username: 'LATTER' })).body.username).toBe('LATTER')
  })

  test.each([
    ['ALICE', 409, 'conflict', 'username is already taken'],
    ['', 400, 'invalid_request', 'username must not be empty'],
    [7, 400, 'invalid_request', 'username must be a text'],
    [null, 400, 'invalid_request', 'username cannot be taken away; a list of roles can be empty'],
  ])('the user name %j is refused, with all that goes with it', async (username, status, error, message) => {
    const { sub, username: had } = await somebody()
    const answer = await call('PATCH', `/users/${sub}`, { username, nickname: 'Lost', disabled: true })
    expect([answer.status, answer.body]).toMatchObject([
      status,
      { error, error_description: message, problems: [{ member: 'username' }] },
    ])
    expect((await call('GET', `/users/${sub}`)).body).toEqual({
      sub,
      username: had,
      roles: [],
      disabled: false,
    })
  })

  test('of two at once who shall have one name, one has it', async () => {
    const both = await Promise.all([somebody(), somebody()])
    const answers = await Promise.all(
      both.map(async ({ sub }) => call('PATCH', `/users/${sub}`, { username: 'unique' })),
    )
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200, 409]))
  })

  test('disabled, all of theirs ends at once, also at another process, and with it what was changed beside', async () => {
    const beside = await startBeside(server)
    const person = { username: 'leaver', password: 'a password of leaver' }
    const { sub } = await somebody(person)
    const agent = await signedIn(server, person)
    const tokens = await getTokens(server, { scope: 'openid offline_access' }, agent)
    const { body } = await call('PATCH', `/users/${sub}`, { disabled: true, nickname: 'Gone' })
    expect(body).toMatchObject({ disabled: true, nickname: 'Gone' })
    expect((await refresh(server, tokens.refresh_token)).status).toBe(400)
    expect((await open(server, agent)).url).toContain('/sign-in')
    await until(async () =>
      expect((await beside.get('/userinfo', bearer(tokens.access_token))).status).toBe(401),
    )
    // Again is as it is.
    expect((await call('PATCH', `/users/${sub}`, { disabled: true })).status).toBe(200)
    expect((await oauth.audit.list({ type: 'user.disabled', user: sub })).events).toHaveLength(1)
    // What is refused leaves all as it was.
    expect((await call('PATCH', `/users/${sub}`, { disabled: false, email: 'nowhere' })).status).toBe(400)
    expect((await oauth.users.get(sub)).disabled).toBe(true)
  })

  test('a new password ends what was, and is refused where it is a common one', async () => {
    const person = { username: 'changer', password: 'a password of before' }
    const { sub } = await somebody(person)
    const agent = await signedIn(server, person)
    expect((await call('PATCH', `/users/${sub}`, { password: 'password' })).body.problems[0].member).toBe(
      'password',
    )
    expect((await call('PATCH', `/users/${sub}`, { password: 'a password of after' })).status).toBe(200)
    expect((await open(server, agent)).url).toContain('/sign-in')
    await signedIn(server, { ...person, password: 'a password of after' })
  })

  test('deleted, they are gone, once', async () => {
    const { sub } = await somebody()
    expect((await call('DELETE', `/users/${sub}`)).status).toBe(204)
    expect((await call('DELETE', `/users/${sub}`)).status).toBe(404)
    expect((await call('GET', `/users/${sub}`)).body).toEqual({
      error: 'not_found',
      error_description: 'there is no user here',
    })
  })
})

describe('what they have going', () => {
  test('is listed, and ended one by one or altogether', async () => {
    const agents = [await signedIn(server), await signedIn(server)]
    const tokens = await getTokens(server, { scope: 'openid offline_access' }, agents[0])
    const { sessions } = (await call('GET', `/users/${alice.id}/sessions`)).body
    expect(sessions).toHaveLength(2)
    expect(sessions[0]).toMatchObject({
      sid: expect.any(String),
      amr: ['pwd'],
      pending: false,
      address: '127.0.0.1',
    })
    const { authorizations } = (await call('GET', `/users/${alice.id}/authorizations`)).body
    expect(authorizations).toMatchObject([
      { client_id: 'web', sub: alice.id, scope: 'openid offline_access', refreshable: true },
    ])
    const byClient = await (await callerAs(server, 'apps'))('GET', '/clients/web/authorizations')
    expect(byClient.body.authorizations).toEqual(expect.arrayContaining(authorizations))
    expect((await call('DELETE', `/authorizations/${authorizations[0].id}`)).status).toBe(204)
    expect((await call('DELETE', `/authorizations/${authorizations[0].id}`)).status).toBe(404)
    expect((await refresh(server, tokens.refresh_token)).status).toBe(400)
    expect((await call('DELETE', `/users/${alice.id}/sessions/${sessions[0].sid}`)).status).toBe(204)
    expect((await call('DELETE', `/users/${alice.id}/sessions/${sessions[0].sid}`)).status).toBe(404)
    expect((await call('DELETE', `/users/${alice.id}/sessions`)).status).toBe(204)
    for (const agent of agents) expect((await open(server, agent)).url).toContain('/sign-in')
  })

  test('is exported, and none of it is a secret', async () => {
    const { status, body } = await call('GET', `/users/${alice.id}/data`)
    expect(status).toBe(200)
    expect(JSON.stringify(body)).not.toMatch(/password|secret|hash|argon2|lks_/i)
    expect(body).toMatchObject({
      sub: alice.id,
      username: 'alice',
      email: ALICE.email,
      sessions: [],
      apps: [{ client_id: 'web' }],
    })
  })

  test('a link sets their password once', async () => {
    const { sub, username } = await somebody()
    const make = async () => call('POST', `/users/${sub}/password-link`, {})
    const [former, { status, body }] = [await make(), await make()]
    expect([status, body]).toEqual([
      201,
      { uri: expect.stringContaining('/set-password?token='), expires_at: expect.any(String) },
    ])
    const agent = createUserAgent(server.url)
    expect((await agent.get(former.body.uri)).body).not.toContain('id="set-password"')
    const page = await agent.get(body.uri)
    await agent.submit(page, 'set-password', { password: 'a password by a link' })
    await signedIn(server, { username, password: 'a password by a link' })
    expect((await agent.get(body.uri)).body).not.toContain('id="set-password"')
    for (const { body: made } of [former, { body }])
      expect(server.output()).not.toContain(new URL(made.uri as string).searchParams.get('token'))
    await call('PATCH', `/users/${sub}`, { disabled: true })
    expect((await make()).body.error_description).toBe('user may not sign in')
  })

  test.runIf(isThere('latchkey-invitation'))(
    'an invitation is sent and withdrawn, to who has an address and no password',
    async () => {
      const { sub } = await somebody({ email: 'guest@example.com' })
      expect((await call('POST', `/users/${sub}/invitation`, {})).status).toBe(202)
      // At once, however long the mail takes.
      expect((await call('DELETE', `/users/${sub}/invitation`)).status).toBe(204)
      expect((await call('DELETE', `/users/${sub}/invitation`)).status).toBe(404)
      expect((await call('POST', `/users/${(await somebody()).sub}/invitation`, {})).status).toBe(400)
      expect((await call('POST', `/users/${alice.id}/invitation`, {})).status).toBe(400)
    },
  )

  test.runIf(isThere('latchkey-own-data'))('a deletion that they asked for is cancelled', async () => {
    const { sub } = await somebody()
    await kernelOf(server.server).accountDeletions.request(sub, 3600)
    expect((await call('GET', `/users/${sub}`)).body.deletes_at).toMatch(/^\d{4}-.*Z$/)
    expect((await call('DELETE', `/users/${sub}/deletion`)).status).toBe(204)
    expect((await call('GET', `/users/${sub}`)).body).not.toHaveProperty('deletes_at')
    expect((await call('DELETE', `/users/${sub}/deletion`)).status).toBe(404)
  })

  test.runIf(isThere('latchkey-passkeys', 'latchkey-upstreams'))(
    'factors and ways in that they do not have are said to be none',
    async () => {
      const { sub } = await somebody()
      expect((await call('GET', `/users/${sub}/passkeys`)).body).toEqual({ passkeys: [] })
      expect((await call('GET', `/users/${sub}/linked-sign-ins`)).body).toEqual({ linked_sign_ins: [] })
      for (const path of ['passkeys/none', 'linked-sign-ins/none'])
        expect((await call('DELETE', `/users/${sub}/${path}`)).status).toBe(404)
      expect((await call('DELETE', `/users/${sub}/second-factor`)).status).toBe(404)
    },
  )
})

test.each(['GET', 'PATCH', 'DELETE'])('%s of nobody is 404, whatever stands there', async (method) => {
  for (const sub of [
    '6d3c6a1e-0000-4000-8000-000000000000',
    'alice',
    '%20',
    "'--",
    'constructor',
    '__proto__',
  ])
    expect((await call(method, `/users/${sub}`, method === 'PATCH' ? {} : undefined)).status).toBe(404)
  expect((await call(method, '/users/%00', method === 'PATCH' ? {} : undefined)).status).toBe(400)
})
