/**
 * SIGKILL while an account that is due is deleted, two processes at it at once, and SIGKILL while its farewell is on its way: it is there
 * as it was, or gone to the last trace.
 * @needs latchkey-own-data, latchkey-notices
 */
import { Client } from 'pg'
import { expect, test } from 'vitest'
import { makeDue } from '../plugins/own-data/people.ts'
import { createDatabase } from '../support/database.ts'
import { spawnServer } from '../support/process.ts'
import { startServer } from '../support/server.ts'
import { getTokens, SEED } from '../support/sign-in.ts'
import { startSmtpServer } from '../support/smtp-server.ts'
import { dump } from '../support/traces.ts'
import { createUserAgent } from '../support/user-agent.ts'

const ADA = {
  username: 'ada-unforgettable',
  password: 'a password of hers',
  name: 'Ada Unforgettable',
  email: 'ada@unforgettable.example',
  email_verified: true,
}
/** In whatever is told of her. */
const HER = /unforgettable/i

test('killed in the middle, by two at once, killed before the farewell is out: no half of anybody is left, and nothing names her', async () => {
  const database = await createDatabase({ refusing: false })
  const mails = await startSmtpServer()
  const first = await startServer(
    {
      OIDC_JANITOR_INTERVAL: 0,
      SMTP_URL: `smtp://127.0.0.1:${mails.port}`,
      MAIL_FROM: 'Latchkey <login@example.com>',
    },
    { database, seed: SEED },
  )
  const { users } = first.server.oauth
  const ada = await users.create(ADA)
  // What is kept of her, and told of her.
  await getTokens(first, { scope: 'openid email offline_access' }, createUserAgent(first.url), ADA)
  await users.update(ADA.username, { nickname: 'The unforgettable' })
  const keys = users.records('sample-key')
  const details = { name: 'The phone of Ada Unforgettable' }
  await keys.put(ada.id, 'one', details, { type: 'user.passkey_added', user: ada.id, details })
  await keys.delete(ada.id, 'one', { type: 'user.passkey_removed', user: ada.id, details })
  await keys.put(ada.id, 'two', details)
  await first.server.oauth
    .artifacts('sample', { lifetime: 3600, ofUsers: true })
    .put(details, { owner: ada.id })
  await makeDue(first, ada)
  await expect.poll(() => mails.mails.length).toBeGreaterThan(0)
  await expect.poll(async () => database.query('select kind from outbox')).toEqual([])
  await first.server.close()
  const told = mails.mails.length
  const HERS = `user_id = '${ada.id}'`

  const { PORT: _port, OIDC_ISSUER: _issuer, ...settings } = first.settings
  const spawn = async () => spawnServer({ ...settings, OIDC_JANITOR_INTERVAL: 1 }, { database })
  const left = async () => {
    const [row] = await database.query(`select
      (select count(*)::int from users where id = '${ada.id}') as users,
      (select count(*)::int from user_records where ${HERS}) as records,
      (select count(*)::int from artifacts where owner = '${ada.id}') as artifacts,
      (select count(*)::int from audit_events where details::text ~* 'unforgettable') as named,
      (select count(*)::int from outbox) as mails`)
    return row
  }

  // Killed once she is gone from every table but the audit log.
  const before = await left()
  expect(before).toEqual({ users: 1, records: 1, artifacts: 1, named: 4, mails: 0 })
  const holder = new Client({ connectionString: database.url })
  holder.on('error', () => {})
  await holder.connect()
  await holder.query(`begin; select from audit_events where ${HERS} and type = 'user.registered' for update`)
  const killed = await spawn()
  const waiting = `select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`
  await expect.poll(async () => (await database.query(waiting)).length).toBe(1)
  await killed.stop('SIGKILL')
  await holder.end()
  const ours = `select from pg_stat_activity where datname = current_database() and application_name = 'latchkey'`
  await expect.poll(async () => database.query(ours)).toEqual([])
  expect(await left()).toEqual(before)

  // Two at once, of which one finds nothing to do.
  await database.query(`update users set deletion_due_at = now() + interval '1 hour' where id = '${ada.id}'`)
  mails.replies = { ...mails.replies, data: null }
  const both = await Promise.all([spawn(), spawn()])
  await database.query(`update users set deletion_due_at = now() where id = '${ada.id}'`)
  await expect.poll(async () => database.query(`select from users where id = '${ada.id}'`)).toEqual([])
  // The mail server has the farewell, and has not said so.
  const sent = () => mails.commands.filter((line) => line.startsWith('DATA')).length
  await expect.poll(sent).toBe(told + 1)
  for (const server of both) await server.stop('SIGKILL')
  expect(await database.query('select kind from outbox')).toEqual([{ kind: 'mail' }])

  mails.replies = { ...mails.replies, data: '250 2.0.0 queued' }
  // As if it had waited for a while for who has taken it.
  await database.query('update outbox set due_at = now()')
  await startServer(settings, { database })
  await expect.poll(async () => database.query('select kind from outbox')).toEqual([])
  expect(mails.mails.slice(told)).toMatchObject([{ to: ADA.email, text: expect.stringMatching(HER) }])
  const events = await database.query(
    `select type, actor_kind, actor_id from audit_events where ${HERS} and type = 'user.deleted'`,
  )
  expect(events).toEqual([{ type: 'user.deleted', actor_kind: 'server', actor_id: null }])
  expect((await dump(database)).split('\n').filter((line) => HER.test(line))).toEqual([])
  for (const { output } of [killed, ...both]) expect(output()).not.toMatch(HER)
})
