/** What an operator changed by the command line outlives every start of every process, with the SEED_FILE as it was. */
import { expect, test } from 'vitest'
import { runCommand, spawnServer, type SpawnedServer } from '../support/process.ts'
import { basic } from '../support/requests.ts'

const SECRET = 'the secret of the file'
const seed = {
  clients: [{ client_id: 'reports', client_secret: SECRET, scope: ['read'] }],
  users: [{ username: 'ann', password: 'the password of the file', roles: ['admin'] }],
}

const tokenStatus = async ({ post }: SpawnedServer, secret: string): Promise<number> =>
  (await post('/token', { grant_type: 'client_credentials' }, basic('reports', secret))).status

test.concurrent.each([1, 2])('a rotated secret and a role that was taken away, with %d worker(s)', async (WORKERS) => {
  const first = await spawnServer({ WORKERS }, { seed })
  const rotated = await runCommand(['client', 'rotate-secret', 'reports', '--json'], first.settings)
  const { client_secret } = JSON.parse(rotated.stdout) as { client_secret: string }
  await runCommand(['user', 'update', 'ann', '--role', 'editor'], first.settings)
  await first.stop()
  const second = await spawnServer(first.settings, { database: first.database })
  expect(await Promise.all([client_secret, SECRET].map(async (one) => tokenStatus(second, one)))).toEqual([200, 401])
  const shown = await runCommand(['user', 'show', 'ann', '--json'], first.settings)
  expect(JSON.parse(shown.stdout)).toMatchObject({ roles: ['editor'] })
}) // prettier-ignore
