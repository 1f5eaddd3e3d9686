/** Browser sessions, beside what changes their user at the same moment. */
import { expect, test } from 'vitest'
import { createSessions } from '../../../src/services/users/sessions.ts'
import { openUsers } from '../../support/users.ts'

const { users, database, rows, audit } = await openUsers()
const sessions = createSessions(database, audit, { idle: 3600, expire: 7200 })
const PASSWORD = 'a long enough password'

test('a sign-in under way when the password changes begins nothing', async () => {
  await users.create({ username: 'mallory', password: PASSWORD })
  const proven = (await users.authenticate('mallory', PASSWORD))!
  await users.setPassword('mallory', 'another long password')
  expect(await sessions.start({ user: proven, amr: ['pwd'] })).toBeNull()
  const again = (await users.authenticate('mallory', 'another long password'))!
  expect(await sessions.start({ user: again, amr: ['pwd'] })).not.toBeNull()
})

test('nor when the user is disabled', async () => {
  await users.create({ username: 'mike', password: PASSWORD })
  const proven = (await users.authenticate('mike', PASSWORD))!
  await users.disable('mike')
  expect(await sessions.start({ user: proven, amr: ['pwd'] })).toBeNull()
})

test('the same user signs in again: the session goes on, by a new token alone', async () => {
  const user = await users.create({ username: 'nina', password: PASSWORD })
  const first = (await sessions.start({ user, amr: ['pwd'] }))!
  const second = (await sessions.start({ user, amr: ['pwd'] }, first.token))!
  expect(second.session.sid).toBe(first.session.sid)
  expect(second.session.authenticatedAt).toBeGreaterThanOrEqual(first.session.authenticatedAt)
  expect([await sessions.find(first.token), (await sessions.find(second.token))?.sid]).toEqual([
    null,
    first.session.sid,
  ])
})

test('another user signs in: a new session, and the former is gone', async () => {
  const [olga, paul] = [
    await users.create({ username: 'olga', password: PASSWORD }),
    await users.create({ username: 'paul', password: PASSWORD }),
  ]
  const first = (await sessions.start({ user: olga, amr: ['pwd'] }))!
  const second = (await sessions.start({ user: paul, amr: ['pwd'] }, first.token))!
  expect(second.session.sid).not.toBe(first.session.sid)
  expect(await sessions.find(first.token)).toBeNull()
})

test('one that is not used ends, and so does one that is too old', async () => {
  const user = await users.create({ username: 'quinn', password: PASSWORD })
  for (const column of ['expires_at', 'ends_at']) {
    const { token, session } = (await sessions.start({ user, amr: ['pwd'] }))!
    await rows.query(`update sessions set ${column} = now() where sid = $1`, [session.sid])
    expect(await sessions.find(token)).toBeNull()
  }
})
