/**
 * Linked sign-ins on the account: linked, used, told in the export, unlinked; and a server that is without the plugin.
 * @needs latchkey-upstreams
 */
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { kernelOf } from '../../../src/http/kernel-of.ts'
import { startServer } from '../../support/server.ts'
import { ALICE, answerOf, authorizationUrl, BOB, goThrough, SEED } from '../../support/sign-in.ts'
import { allow, answerAt, signInBy, startBelow, startUpstream, traveller } from '../../support/upstreams.ts'
import { createUserAgent, findForm } from '../../support/user-agent.ts'

const { server, upstreams } = await startBelow(async (url) => [await startUpstream('corp', url, [ALICE])])
const [corp] = upstreams as [(typeof upstreams)[number]]
const { users, audit, sessions } = server.server.oauth
const bob = (await users.find(BOB.username))!.id

describe('a sign-in elsewhere', () => {
  test('is linked by who is signed in, signs in from then on, and is told in the export', async () => {
    const who = traveller(server, corp)
    const login = await who.here.get(`${server.url}/account/linked-sign-ins`)
    const page = await goThrough(who.here, login, BOB)
    expect(page.headers.get('content-security-policy')).not.toContain('form-action')
    const left = await who.here.submit(page, 'link', { upstream: 'corp' })
    const back = await who.here.get(await answerAt(who, left, ALICE))
    expect([back.status, back.body]).toEqual([200, expect.stringContaining('It is linked')])
    expect((await who.here.get(`${server.url}/account/security`)).body).toContain('<bdi>CORP</bdi>')
    const again = traveller(server, corp)
    answerOf(await allow(again.here, await signInBy(server, corp, ALICE, again)))
    expect(await users.waysIn(bob)).toEqual(expect.arrayContaining(['password', 'upstream-link']))
    expect(JSON.stringify(await users.export(bob))).toContain(corp.issuer)
  })

  test('is not linked by who is signed out while the upstream takes its time', async () => {
    const { id, username } = await users.create({ username: 'left', password: BOB.password })
    const who = traveller(server, corp)
    const login = await who.here.get(`${server.url}/account/linked-sign-ins`)
    const page = await goThrough(who.here, login, { username, password: BOB.password })
    const address = await answerAt(who, await who.here.submit(page, 'link', { upstream: 'corp' }), ALICE)
    const { authorizationCodes } = kernelOf(corp.server.server)
    const find = authorizationCodes.find.bind(authorizationCodes)
    const asked = vi.spyOn(authorizationCodes, 'find').mockImplementationOnce(async (code) => {
      await sessions.endAll(id)
      return find(code)
    })
    onTestFinished(() => asked.mockRestore())
    const { status, body } = await who.here.get(address)
    expect(asked).toHaveBeenCalledTimes(1)
    expect([status, body]).toEqual([400, expect.not.stringContaining('It is linked')])
    expect(await users.waysIn(id)).toEqual(['password'])
    await users.delete(username)
  })

  test('is unlinked, which asks who has been signed in for long who they are', async () => {
    const agent = createUserAgent(server.url)
    const page = await goThrough(agent, await agent.get(`${server.url}/account/linked-sign-ins`), BOB)
    const age = `update sessions set authenticated_at = authenticated_at - interval '601 seconds'`
    await server.database.query(age)
    for (const form of ['link', 'unlink-0'])
      expect(new URL((await agent.submit(page, form, { upstream: 'corp' })).url).pathname).toBe('/sign-in')
    const other = createUserAgent(server.url)
    const fresh = await goThrough(other, await other.get(`${server.url}/account/linked-sign-ins`), BOB)
    expect((await other.submit(fresh, 'unlink-0')).body).toContain('not linked with your account any more')
    expect(await users.waysIn(bob)).toEqual(['password'])
    const events = (await audit.list({ user: bob })).events.map(({ type }) => type)
    expect(events).toEqual(expect.arrayContaining(['user.upstream_linked', 'user.upstream_unlinked']))
  })

  test('that is the last way in stays', async () => {
    const user = await users.create({ username: 'lena', password: BOB.password })
    const who = traveller(server, corp)
    const page = await goThrough(who.here, await who.here.get(`${server.url}/account/linked-sign-ins`), { username: 'lena', password: BOB.password })
    const left = await who.here.submit(page, 'link', { upstream: 'corp' })
    const linked = await who.here.get(await answerAt(who, left, ALICE))
    await server.database.query(`update users set password_hash = null where id = '${user.id}'`)
    const refused = await who.here.submit(linked, 'unlink-0')
    expect([refused.status, refused.body]).toEqual([400, expect.stringContaining('the only way to sign in')])
    expect(await users.waysIn(user.id)).toEqual(['upstream-link'])
  })

  test('of an upstream that is gone is no way in: the password stays, and it may go alone', async () => {
    const gwen = { username: 'gwen', password: BOB.password }
    const { id } = await users.create(gwen)
    const agent = createUserAgent(server.url)
    const page = await goThrough(agent, await agent.get(`${server.url}/account/linked-sign-ins`), gwen)
    const link = { upstream: 'gone', issuer: 'https://gone.example', subject: 'gwen', name: null }
    await server.database.query(`insert into user_records (user_id, kind, record_id, value) values ('${id}', 'upstream-link', 'gone', '${JSON.stringify(link)}')`)
    const { upstreams: registry } = kernelOf(server.server)
    await registry.save({ id: 'gone', issuer: link.issuer, client_id: 'us' })
    expect((await users.waysIn(id)).toSorted()).toEqual(['password', 'upstream-link'])
    expect(findForm(await agent.get(`${server.url}/account/security`), 'remove-password')).toBeDefined()
    await registry.delete('gone')
    expect(await users.waysIn(id)).toEqual(['password'])
    expect(findForm(await agent.get(`${server.url}/account/security`), 'remove-password')).toBeUndefined()
    await expect(users.removePassword(id)).rejects.toThrow('the only way to sign in')
    const shown = await agent.get(page.url)
    expect((await agent.submit(shown, 'unlink-0')).body).toContain('not linked with your account any more')
    expect(await users.waysIn(id)).toEqual(['password'])
    expect(await users.delete('gwen')).toBe(true)
  })

  test('goes with its user', async () => {
    const { id } = (await users.find('lena'))!
    expect(await users.delete('lena')).toBe(true)
    expect(await server.database.query('select from user_records where user_id = $1', [id])).toHaveLength(0)
  })
}) // prettier-ignore

test('left out, all of it is gone, and all else works', async () => {
  const registered = { id: 'corp', issuer: corp.issuer, client_id: 'us' }
  const bare = await startServer({ WITHOUT: 'latchkey-upstreams' }, { seed: { ...SEED, upstreams: [registered] } })
  const agent = createUserAgent(bare.url)
  const page = await agent.get(authorizationUrl(bare))
  expect(findForm(page, 'upstreams')).toBeUndefined()
  answerOf(await goThrough(agent, page))
  for (const path of ['/upstream/corp/callback', '/account/linked-sign-ins'])
    expect([path, (await agent.get(bare.url + path)).status]).toEqual([path, 404])
  expect((await agent.get(`${bare.url}/account/security`)).body).not.toContain('Linked sign-ins')
}) // prettier-ignore
