/** What hashing a password takes is a setting: new hashes take it, and a sign-in renews what took another. */
import { expect, test } from 'vitest'
import { createDatabase } from '../support/database.ts'
import { startServer } from '../support/server.ts'

const database = await createDatabase()
const PASSWORD = 'correct horse battery staple'
const SECRET_KEY = 'the secret key of this test is long enough'

const startWith = (memory: number) =>
  startServer({ SECRET_KEY, OIDC_PASSWORD_HASH_MEMORY: memory }, { database })

async function memoryOf(username: string): Promise<string | undefined> {
  const [row] = await database.query<{ hash: string }>(
    'select password_hash as hash from users where username = $1',
    [username],
  )
  return /\bm=(\d+)/.exec(row!.hash)?.[1]
}

test('the next sign-in renews the hash, to more and to less, and every process takes what another made', async () => {
  const [small, large] = [await startWith(2048), await startWith(4096)]
  const { users } = small.server.oauth
  const { users: others } = large.server.oauth
  await users.create({ username: 'ann', password: PASSWORD })
  expect(await memoryOf('ann')).toBe('2048')
  expect(await others.authenticate('ann', 'not her password at all')).toBeNull()
  expect(await memoryOf('ann')).toBe('2048')
  expect(await others.authenticate('ann', PASSWORD)).toMatchObject({ username: 'ann' })
  await expect.poll(() => memoryOf('ann')).toBe('4096')
  expect(await users.authenticate('ann', PASSWORD)).toMatchObject({ username: 'ann' })
  await expect.poll(() => memoryOf('ann')).toBe('2048')
})

test('the secret that somebody chose for a client takes it, too', async () => {
  const server = await startWith(3072)
  await server.server.oauth.clients.create({
    client_id: 'chosen',
    client_secret: 'a secret that was chosen',
    grant_types: ['client_credentials'],
  })
  const [row] = await database.query<{ hash: string }>(
    `select hash from client_secrets where client_id = 'chosen'`,
  )
  expect(row!.hash).toContain('m=3072')
})
