/** What an operator finds in the audit log after a day's work, through whichever door it was done. */
import { randomUUID } from 'node:crypto'
import { expect, test } from 'vitest'
import type { AuditEvent, EventType } from '../../src/events.ts'
import { runCommandHere } from '../support/command-here.ts'
import { basic } from '../support/requests.ts'
import { startServer } from '../support/server.ts'
import { ALICE, authorizationUrl, exchange, getTokens, refresh, SEED, WEB } from '../support/sign-in.ts'
import { until } from '../support/until.ts'
import { createUserAgent } from '../support/user-agent.ts'

const server = await startServer({}, { seed: SEED, makesKeys: true })
const { oauth } = server.server
const credentials = basic(WEB.client_id, WEB.client_secret)
const { id: alice } = (await oauth.users.find('alice'))!
const ofAlice = { kind: 'user', id: alice }
const ofClient = { kind: 'client', id: 'web' }

/** Those of a type, the newest first, once what is stored behind the requests is there. */
async function find<Type extends EventType>(type: Type): Promise<AuditEvent<Type>[]> {
  return until(async () => {
    const { events } = await oauth.audit.list({ type })
    if (events.length === 0) throw new Error(`no ${type}`)
    return events as AuditEvent<Type>[]
  })
}

/** Whatever was stored so far, as text. */
const everything = async (): Promise<string> =>
  JSON.stringify(await server.database.query('select * from audit_events'))

test('SEED_FILE, its users, clients and scopes, and the first keys of the server itself', async () => {
  const [user] = (await find('user.registered')).filter((event) => event.user === alice)
  expect(user).toMatchObject({ actor: { kind: 'seed', id: null }, address: null })
  expect(user!.details.changes).toMatchObject({ username: [null, 'alice'], email: [null, ALICE.email] })
  const [client] = await find('client.registered')
  expect(client).toMatchObject({ client: 'web', actor: { kind: 'seed' } })
  expect((await find('scope.registered'))[0]!.details).toMatchObject({ scope: 'read_books' })
  const keys = await find('key.created')
  expect(new Set(keys.map(({ details, actor }) => `${details.algorithm} by ${actor.kind}`))).toEqual(
    new Set(['ES256 by server', 'RS256 by server']),
  )
})

test('sign-in, consent, tokens, a refresh, a replay that ends them', async () => {
  const tokens = await getTokens(server, { scope: 'openid read_books' })
  const [signIn] = await find('user.signed_in')
  expect(signIn).toMatchObject({
    user: alice,
    actor: ofAlice,
    address: '127.0.0.1',
    details: { amr: ['pwd'] },
  })
  expect(signIn!.requestId).toMatch(/^[0-9a-f]{32}$/)
  const [consent] = await find('consent.given')
  expect(consent).toMatchObject({ user: alice, client: 'web', actor: ofAlice })
  expect(consent!.details.scopes).toEqual(['openid', 'read_books'])
  const [issued] = await find('token.issued')
  expect(issued).toMatchObject({ user: alice, client: 'web', actor: ofClient })
  expect(issued!.details.grant_type).toBe('authorization_code')

  const refreshed = await refresh(server, tokens.refresh_token)
  expect(refreshed.status).toBe(200)
  await expect.poll(async () => (await find('token.issued'))[0]!.details.grant_type).toBe('refresh_token')
  // Once the successor is used, its predecessor is nobody's retry.
  const { refresh_token: successor } = (await refreshed.json()) as { refresh_token: string }
  expect((await refresh(server, successor)).status).toBe(200)
  expect((await refresh(server, tokens.refresh_token)).status).toBe(400)
  const [replayed] = await find('authorization.replayed')
  expect(replayed).toMatchObject({ user: alice, client: 'web', actor: ofClient, address: '127.0.0.1' })
  expect(replayed!.details.authorization).toBe(issued!.details.authorization)
  const told = await everything()
  for (const secret of [tokens.access_token, tokens.refresh_token, tokens.id_token]) {
    expect(told).not.toContain(secret)
    expect(told).not.toContain(secret.slice(-20))
  }
})

test('a code that comes twice', async () => {
  const replays = async () => (await oauth.audit.list({ type: 'authorization.replayed' })).events.length
  const agent = createUserAgent(server.url)
  const page = await getTokens(server, {}, agent)
  expect(page.access_token).toBeDefined()
  const again = new URL((await agent.get(authorizationUrl(server))).headers.get('location')!)
  const code = again.searchParams.get('code')!
  const before = await replays()
  expect((await exchange(server, code)).status).toBe(200)
  expect((await exchange(server, code)).status).toBe(400)
  expect(await replays()).toBe(before + 1)
})

test('what was revoked: a token, and with a refresh token its Authorization', async () => {
  const tokens = await getTokens(server)
  await server.post('/revoke', { token: tokens.access_token }, credentials)
  expect((await find('token.revoked'))[0]).toMatchObject({ client: 'web', actor: ofClient })
  await server.post('/revoke', { token: tokens.refresh_token }, credentials)
  expect((await find('authorization.revoked'))[0]).toMatchObject({
    user: alice,
    client: 'web',
    actor: ofClient,
  })
  const before = (await find('authorization.revoked')).length
  await server.post('/revoke', { token: tokens.refresh_token }, credentials)
  expect((await find('authorization.revoked')).length).toBe(before)
})

test('failures: of a known account by its id, of an unknown one by nothing that was typed', async () => {
  const typed = `a password in the wrong field ${randomUUID()}`
  for (const username of ['alice', typed]) {
    const agent = createUserAgent(server.url)
    await agent.submit(await agent.get(authorizationUrl(server)), 'login', { username, password: 'wrong guess' })
  }
  await expect.poll(() => find('user.sign_in_failed')).toHaveLength(2)
  const failed = await find('user.sign_in_failed')
  expect(new Set(failed.map(({ user }) => user))).toEqual(new Set([alice, undefined]))
  for (const clientId of ['web', typed])
    expect((await server.post('/token', {}, basic(clientId, 'wrong'))).status).toBe(401)
  await expect.poll(() => find('client.authentication_failed')).toHaveLength(2)
  const clients = (await find('client.authentication_failed')).map(({ client }) => client)
  expect(new Set(clients)).toEqual(new Set(['web', undefined]))
  const told = await everything()
  expect(told).not.toContain(typed)
  expect(told).not.toContain('wrong guess')
}) // prettier-ignore

test('the command line: who changed what, from what, to what; and no secret', async () => {
  const run = async (...args: string[]) => {
    const { status, stdout } = await runCommandHere([...args, '--json'], server.settings)
    expect(status).toBe(0)
    return JSON.parse(stdout) as Record<string, unknown>
  }
  const command = { kind: 'command', id: expect.any(String) }
  await run('client', 'update', 'web', '--scope', 'read_books write_books')
  expect((await find('client.changed'))[0]).toMatchObject({
    client: 'web',
    actor: command,
    details: { changes: { scope: [['read_books'], ['read_books', 'write_books']] } },
  })
  const { client_secret: secret } = await run('client', 'rotate-secret', 'web')
  expect((await find('client.secret_rotated'))[0]).toMatchObject({ client: 'web', details: { overlap: 0 } })
  await run('user', 'disable', 'bob')
  await run('user', 'disable', 'bob')
  expect(await find('user.disabled')).toHaveLength(1)
  await run('user', 'enable', 'bob')
  expect((await find('user.enabled'))[0]!.actor).toMatchObject(command)
  await run('key', 'rotate', '--algorithm', 'ES256')
  expect((await find('key.created'))[0]!.actor).toMatchObject(command)
  await run('client', 'delete', 'web', '--yes')
  expect((await find('client.deleted'))[0]).toMatchObject({ client: 'web', actor: command })
  const told = await everything()
  expect(told).not.toContain(secret)
  expect(told).not.toContain(ALICE.password)
})
