/**
 * Back-channel logout by people who know nothing of this checkout: one plugin, loaded from the installed package, and an app
 * in a process of its own that verifies what it is told with jose. The app is down, the server is killed; nothing is lost.
 */
import { join } from 'node:path'
import { decodeJwt } from 'jose'
import { expect, test } from 'vitest'
import { type LogoutApp, startLogoutApp } from '../support/logout-app.ts'
import { compile, installStranger, pack } from '../support/packages.ts'
import { runCommand, type SpawnedServer, spawnServer } from '../support/process.ts'
import { freePort } from '../support/settings.ts'
import { ALICE, getTokens, goThrough, SEED, WEB, type Tokens } from '../support/sign-in.ts'
import { createUserAgent, type UserAgent } from '../support/user-agent.ts'

const folder = await installStranger('backchannel-logout', 'latchkey', await pack('latchkey'), [
  '@types/node',
  'jose',
])
const compiling = compile(folder)
compiling.catch(() => {})
const port = await freePort()
const app = { ...WEB, backchannel_logout_uri: `http://127.0.0.1:${port}/logout`, backchannel_logout_session_required: true } // prettier-ignore
/** One that nobody asked to be told. */
const silent = { ...WEB, client_id: 'silent' }
const seed = { ...SEED, clients: [app, silent] }

let server: SpawnedServer = await spawnServer(
  {
    WITHOUT: 'latchkey-backchannel-logout',
    PLUGINS: join(folder, 'backchannel-logout.ts'),
    UNSAFE_OUTBOUND_ORIGINS: `http://127.0.0.1:${port}`,
  },
  { seed },
)
const { database, settings } = server

const startApp = async (how = ''): Promise<LogoutApp> =>
  startLogoutApp({ issuer: server.url, clientId: app.client_id, port, folder, how })

async function signIn(): Promise<{ agent: UserAgent; tokens: Tokens; sub: unknown; sid: unknown }> {
  const agent = createUserAgent(server.url)
  const tokens = await getTokens(server, {}, agent)
  const { sub, sid } = decodeJwt(tokens.id_token)
  return { agent, tokens, sub, sid }
}

async function signOut({ agent, tokens }: Awaited<ReturnType<typeof signIn>>): Promise<void> {
  const page = await agent.get(`${server.url}/end-session?id_token_hint=${tokens.id_token}`)
  expect(page.body).toContain('id="signed-out"')
}

/** Tries of what waits. */
async function attempts(): Promise<number[]> {
  const rows = await database.query<{ attempts: number }>('select attempts from outbox order by enqueued_at')
  return rows.map((row) => row.attempts)
}

/** As if half an hour had passed for what waits. */
const pass = async () => database.query(`update outbox set due_at = now() - interval '1 second'`)

async function restart(): Promise<void> {
  await pass()
  server = await spawnServer(settings, { database })
}

test('strict projects compile against the package, the plugin without a cast', async () => {
  await compiling
})

test('the metadata offers it, and members of a client are checked', async () => {
  const metadata = (await (await server.get('/.well-known/openid-configuration')).json()) as object
  expect(metadata).toMatchObject({
    backchannel_logout_supported: true,
    backchannel_logout_session_supported: true,
  })
  const bad = ['client', 'update', 'web', '--backchannel-logout-uri', 'javascript:alert(1)']
  expect((await runCommand(bad, settings)).status).toBe(1)
})

test('the start names the origin that may be asked', async () => {
  await expect
    .poll(server.output)
    .toContain(`UNSAFE_OUTBOUND_ORIGINS LETS CLIENTS MAKE THIS SERVER ASK http://127.0.0.1:${port}`)
})

test('an app that is down when its user signs out is told once it is up', async () => {
  const signedIn = await signIn()
  await signOut(signedIn)
  await expect.poll(attempts).toEqual([expect.toSatisfy((n) => n >= 2)])
  const { told, stop } = await startApp()
  await expect.poll(() => told).toHaveLength(1)
  expect(told[0]).toEqual({ path: '/logout', sub: signedIn.sub, sid: signedIn.sid, jti: expect.any(String), again: false, alg: 'RS256' }) // prettier-ignore
  await expect.poll(attempts).toEqual([])
  await stop()
})

test('a server that is killed between a sign-out and its delivery has lost nothing', async () => {
  const signedIn = await signIn()
  await signOut(signedIn)
  await server.stop('SIGKILL')
  expect(await attempts()).toHaveLength(1)
  const { told, stop } = await startApp()
  await restart()
  await expect.poll(() => told).toMatchObject([{ sub: signedIn.sub, sid: signedIn.sid }])
  await expect.poll(attempts).toEqual([])
  await stop()
})

test('a server that is killed while it tells tells once more, by the same jti', async () => {
  const hanging = await startApp('hang')
  const signedIn = await signIn()
  await signOut(signedIn)
  await expect.poll(() => hanging.told).toHaveLength(1)
  await server.stop('SIGKILL')
  await hanging.stop()
  const { told, stop } = await startApp()
  await restart()
  await expect.poll(() => told).toHaveLength(1)
  expect(told[0]).toMatchObject({ jti: hanging.told[0]!.jti, sid: signedIn.sid })
  // An answer that is cut is none: the next app would hear of it.
  await expect.poll(attempts).toEqual([])
  await stop()
})

test('every other ending is told too: from /account, by an administrator, by a withdrawal', async () => {
  const { told, repeated, stop } = await startApp()
  const expected: unknown[] = []
  const isTold = async (sid: unknown) => {
    expected.push(sid)
    await expect.poll(() => told.map((one) => one.sid)).toEqual(expected)
  }

  const [here, there] = [await signIn(), await signIn()]
  const sessions = await here.agent.get(`${server.url}/account/sessions`)
  const ended = await here.agent.submit(sessions, 'end-others', {})
  expect(ended.status).toBe(200)
  await isTold(there.sid)

  const apps = await here.agent.get(`${server.url}/account/apps`)
  await here.agent.submit(apps, 'revoke-0', {})
  await isTold(here.sid)

  const last = await signIn()
  expect((await runCommand(['user', 'disable', ALICE.username], settings)).status).toBe(0)
  await isTold(last.sid)
  expect((await runCommand(['user', 'enable', ALICE.username], settings)).status).toBe(0)
  // Nothing is told twice that was answered.
  expect(repeated.length === 0 || server.output().includes('a delivery failed')).toBe(true)
  await stop()
})

test('an app that asked for nothing is told nothing, and nothing waits for it', async () => {
  const agent = createUserAgent(server.url)
  const url = new URLSearchParams({ client_id: 'silent', redirect_uri: WEB.redirect_uri, response_type: 'code', scope: 'openid' }) // prettier-ignore
  const page = await goThrough(agent, await agent.get(`${server.url}/authorize?${url.toString()}`))
  const code = new URL(page.headers.get('location')!).searchParams.get('code')!
  const basic = { authorization: `Basic ${btoa(`silent:${silent.client_secret}`)}` }
  const form = { grant_type: 'authorization_code', code, redirect_uri: WEB.redirect_uri }
  const tokens = (await (await server.post('/token', form, basic)).json()) as Tokens
  await agent.get(`${server.url}/end-session?id_token_hint=${tokens.id_token}`)
  await expect.poll(attempts).toEqual([])
})

test('an app whose address is not of the internet is not asked, and an administrator sees why', async () => {
  const address = ['client', 'update', 'web', '--backchannel-logout-uri', 'https://169.254.169.254/logout']
  expect((await runCommand(address, settings)).status).toBe(0)
  await signOut(await signIn())
  // The first attempt may still be at the address of before: the command is another process.
  const why = async () =>
    (await database.query('select last_error from outbox'))[0]?.['last_error'] as unknown
  await expect.poll(why).toBe('the address is not of the public internet')
  await database.query(`update outbox set due_at = now(), tries_until = now()`)
  await server.stop('SIGTERM')
  await restart()
  const list = async () => {
    const { stdout } = await runCommand(['delivery', 'list', '--json'], settings)
    return JSON.parse(stdout) as unknown
  }
  await expect
    .poll(list)
    .toMatchObject([{ kind: 'backchannel-logout', last_error: 'the address is not of the public internet' }])
})
