/**
 * Back-channel logout between processes: an app that is down when its user signs out, or that never answers; two processes of the
 * server, and one that is killed between the sign-out and its delivery, or while it tells. The app verifies with jose.
 */
import { decodeJwt } from 'jose'
import { expect, test } from 'vitest'
import { spawnBeside } from '../support/beside.ts'
import { type LogoutApp, startLogoutApp } from '../support/logout-app.ts'
import { runCommand, type SpawnedServer, spawnServer } from '../support/process.ts'
import { freePort } from '../support/settings.ts'
import { ALICE, getTokens, SEED, WEB } from '../support/sign-in.ts'
import { createUserAgent, type UserAgent } from '../support/user-agent.ts'

const port = await freePort()
const app = { ...WEB, backchannel_logout_uri: `http://127.0.0.1:${port}/logout`, backchannel_logout_session_required: true } // prettier-ignore
let one: SpawnedServer = await spawnServer(
  { UNSAFE_OUTBOUND_ORIGINS: `http://127.0.0.1:${port}` },
  { seed: { ...SEED, clients: [app] } },
)
const { settings, database, url } = one
const two = await spawnBeside(settings, database)

const startApp = async (how = ''): Promise<LogoutApp> =>
  startLogoutApp({ issuer: url, clientId: app.client_id, port, how })

interface SignedIn {
  agent: UserAgent
  sub: unknown
  sid: unknown
  id_token: string
}

async function signIn(): Promise<SignedIn> {
  const agent = createUserAgent(url)
  const { id_token } = await getTokens(one, {}, agent)
  const { sub, sid } = decodeJwt(id_token)
  return { agent, sub, sid, id_token }
}

async function signOut({ agent, id_token }: SignedIn): Promise<void> {
  const page = await agent.get(`${url}/end-session?id_token_hint=${id_token}`)
  expect(page.body).toContain('id="signed-out"')
}

/** Tries of what waits. */
async function attempts(): Promise<number[]> {
  const rows = await database.query<{ attempts: number }>('select attempts from outbox order by enqueued_at')
  return rows.map((row) => row.attempts)
}

/** As if half an hour had passed for what waits; every process hears of it. */
async function pass(): Promise<void> {
  await database.query(`update outbox set due_at = now() - interval '1 second'`)
  await database.query(`update outbox_recipients set rests_until = null`)
  await database.query(`insert into changes (id, kind, key) values (gen_random_uuid(), 'delivery', '')`)
}

test('an app that is down when its users sign out is told of each once it is up, once between two processes', async () => {
  const people = await Promise.all(Array.from({ length: 6 }, signIn))
  await Promise.all(people.map(signOut))
  // An app that fails is tried by one of them at a time, and again.
  const failures = async () =>
    (await database.query<{ failures: number }>('select failures from outbox_recipients'))[0]?.failures
  await expect.poll(failures).toBeGreaterThanOrEqual(3)
  expect(await attempts()).toHaveLength(people.length)
  const { told, repeated, stop } = await startApp()
  await pass()
  const sids = () => new Set(told.map(({ sid }) => sid))
  await expect.poll(sids).toEqual(new Set(people.map(({ sid }) => sid)))
  await expect.poll(attempts).toEqual([])
  expect(told.map(({ sub }) => sub)).toEqual(people.map(({ sub }) => sub))
  // Whoever answers in time is told once; a try that was cut says so in the log.
  expect(repeated.length === 0 || /a delivery failed/.test(one.output() + two.output())).toBe(true)
  await stop()
})

test('a server that is killed after the sign-out, or while it tells, has lost nothing: another one goes on', async () => {
  const hanging = await startApp('hang')
  const signedIn = await signIn()
  await two.stop('SIGKILL')
  await signOut(signedIn)
  await expect.poll(() => hanging.told).toHaveLength(1)
  await one.stop('SIGKILL')
  await hanging.stop()
  expect(await attempts()).toHaveLength(1)
  const { told, stop } = await startApp()
  one = await spawnServer(settings, { database })
  await pass()
  await expect.poll(() => told).toHaveLength(1)
  expect(told[0]).toMatchObject({ jti: hanging.told[0]!.jti, sub: signedIn.sub, sid: signedIn.sid })
  await expect.poll(attempts).toEqual([])
  await stop()
})

test('a command that ends everything of a user has the server tell it', async () => {
  const { told, stop } = await startApp()
  const { sid } = await signIn()
  expect((await runCommand(['user', 'disable', ALICE.username], settings)).status).toBe(0)
  await expect.poll(() => told.map((one) => one.sid)).toEqual([sid])
  await stop()
})
