/**
 * docs/backup.md, as it stands there: a dump of a server in use, the drill, and what is true after a restore.
 * @needs latchkey-sign-up
 */
import { symlink } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { checkout, openPage, sitDown, substitute } from '../docs/page.ts'
import { atEndOfFile } from '../support/cleanup.ts'
import { exchangeAs, lifeOf, refreshAs } from '../support/code-flow.ts'
import { execute, withDatabase } from '../support/connection.ts'
import { spawnServer, type SpawnedServer } from '../support/process.ts'
import { bearer } from '../support/requests.ts'
import { toClient } from '../support/service.ts'
import { freePort } from '../support/settings.ts'
import { authorize, getTokens, SEED, WEB } from '../support/sign-in.ts'
import { startSmtpServer, WELL } from '../support/smtp-server.ts'
import { noPostgres, startSystemPostgres } from '../support/system-postgres.ts'
import { createUserAgent } from '../support/user-agent.ts'

const client = toClient(WEB)
const page = await openPage('backup.md')
const [backUp, restore, trial] = [page.next('sh'), page.next('sh'), page.next('sh')]

test('the page has no other commands', () => page.end())

test.skipIf(noPostgres)(
  'a backup is restored elsewhere: what was there is good, what came later is not, what was undone is back',
  async () => {
    const postgres = await startSystemPostgres()
    const [url, drill] = ['latchkey', 'drill'].map((name) => withDatabase(postgres.url, name))
    for (const name of ['latchkey', 'drill']) await execute(postgres.url, `create database ${name}`)
    const database = { url: url!, query: async () => [], drop: atEndOfFile(async () => {}) }
    const smtp = await startSmtpServer()
    smtp.replies = { ...WELL, data: '451 4.3.0 try again later' }
    const mail = { SMTP_URL: `smtp://127.0.0.1:${smtp.port}`, MAIL_FROM: 'login@example.com' }
    const server = await spawnServer(
      { ...mail, OIDC_SIGN_UP: 'on', OIDC_MAIL_CODE: 'on' },
      { seed: SEED, database },
    )
    const desk = await sitDown({ ...server.settings, LOG_LEVEL: 'error', DRILL_URL: drill }, postgres.PATH)
    for (const name of ['package.json', 'bin', 'src'])
      await symlink(join(checkout, name), join(desk.directory, name))

    const [before, rotated, revoked] = [
      await getTokens(server),
      await getTokens(server),
      await getTokens(server),
    ]
    const agent = createUserAgent(server.url)
    const asked = await agent.submit(await agent.get(`${server.url}/sign-up`), 'sign-up', {
      email: 'dora@example.com',
      username: 'dora',
      password: 'a password of their own',
    })
    expect(asked.status).toBe(200)
    await expect.poll(() => smtp.commands.filter((line) => line.startsWith('DATA'))).toHaveLength(1)
    // So that it is due also where the drill is quick.
    await expect
      .poll(async () =>
        execute(url!, 'update outbox set due_at = now() where last_error is not null returning id'),
      )
      .toHaveLength(1)
    // Of an app that hears: it waited then, and is told by the real server.
    await execute(url!, `insert into security_events (stream, jti, claims) values ('one', 'one', '{}')`)
    await desk.sh(backUp)
    const after = await getTokens(server)
    const successor = (await refreshAs(server, client, rotated.refresh_token)).tokens
    await server.post('/revoke', { token: revoked.refresh_token }, client.basic)
    expect(await server.stop()).toBe(0)
    smtp.replies = WELL

    const { stdout } = await desk.sh(restore + substitute(trial, { '3999': String(await freePort()) }))
    expect(stdout).toMatch(/ES256 +current/)
    expect(stdout).toContain('web')
    expect(stdout).toContain('{"status":"ready"}')
    expect(smtp.mails).toEqual([])
    for (const table of ['outbox', 'security_events'])
      expect(await execute(drill!, `select from ${table}`)).toEqual([])

    const restored: SpawnedServer = await spawnServer(
      { ...server.settings, DATABASE_URL: drill },
      { database: { ...database, url: drill! } },
    )
    expect(await lifeOf(restored, client, before)).toEqual({ userinfo: 200, active: true, refresh: 200 })
    expect(await lifeOf(restored, client, after)).toEqual({
      userinfo: 401,
      active: false,
      refresh: 'invalid_grant',
    })
    expect((await restored.get('/userinfo', bearer(revoked.access_token))).status).toBe(200)
    expect((await refreshAs(restored, client, rotated.refresh_token)).status).toBe(200)
    expect(await refreshAs(restored, client, successor.refresh_token)).toMatchObject({
      error: 'invalid_grant',
    })

    const code = (await authorize(restored)).get('code')!
    expect((await exchangeAs(restored, client, code)).status).toBe(200)
  },
)

test.skipIf(noPostgres)('without its SECRET_KEY a restored server refuses to start', async () => {
  const postgres = await startSystemPostgres()
  const server = await spawnServer({ DATABASE_URL: postgres.url })
  expect(await server.stop()).toBe(0)
  await expect(
    spawnServer({ ...server.settings, SECRET_KEY: 'not the key that it was made with: 17' }),
  ).rejects.toThrow('SECRET_KEY: the signing key')
})
