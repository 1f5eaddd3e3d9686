/** The last who has a role keeps it where that is asked for, whoever tries to take it away at the same moment. */
import { beforeEach, expect, test } from 'vitest'
import { openUsers } from '../../support/users.ts'

const { users, rows } = await openUsers()
const { users: beside } = await openUsers(false, rows)
const KEPT = { keepOneWith: 'admin' }
const REFUSED = 'roles must keep admin: nobody else who may sign in has it'

beforeEach(async () => {
  await rows.query('delete from users')
  for (const username of ['ann', 'ben', 'cas']) await users.create({ username, roles: ['admin', 'staff'] })
  await users.create({ username: 'dan', roles: ['staff'] })
})

test('the last neither loses the role nor is disabled; others may be, and the last may change in other ways', async () => {
  await users.update('ann', { roles: ['staff'] }, KEPT)
  await users.disable('ben', KEPT)
  await expect(users.update('cas', { roles: ['staff'] }, KEPT)).rejects.toThrow(REFUSED)
  await expect(users.update('cas', { roles: [] }, KEPT)).rejects.toThrow(REFUSED)
  await expect(users.disable('cas', KEPT)).rejects.toThrow(REFUSED)
  expect(await users.find('cas')).toMatchObject({ roles: ['admin', 'staff'], disabled: false })
  await users.update('cas', { name: 'Cas', roles: ['admin'] }, KEPT)
  await users.disable('dan', KEPT)
  await users.update('ben', { roles: [] }, KEPT)
  expect(await users.hasRole('admin')).toBe(true)
  await users.update('dan', { roles: ['admin'] }, KEPT)
  await expect(users.update('cas', { roles: [] }, KEPT)).rejects.toThrow(REFUSED)
})

test('who does not ask for that may', async () => {
  for (const username of ['ann', 'ben', 'cas']) await users.disable(username)
  expect(await users.hasRole('admin')).toBe(false)
})

test('of all who take it from each other at once, one keeps it', async () => {
  for (let round = 0; round < 10; round++) {
    const results = await Promise.allSettled([
      users.disable('ann', KEPT),
      beside.disable('ben', KEPT),
      users.update('cas', { roles: [] }, KEPT),
      beside.disable('ann', KEPT),
      beside.update('ben', { roles: ['staff'] }, KEPT),
    ])
    const refused = results.filter((one) => one.status === 'rejected')
    expect(new Set(refused.map(({ reason }) => (reason as Error).message))).toEqual(new Set([REFUSED]))
    const left = await rows.query(
      `select username from users where 'admin' = any(roles) and disabled_at is null`,
    )
    expect(left).toHaveLength(1)
    for (const username of ['ann', 'ben', 'cas']) {
      await users.enable(username)
      await users.update(username, { roles: ['admin', 'staff'] })
    }
  }
})
