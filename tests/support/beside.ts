/** A second process of the same server: its settings, its issuer, its database; a port of its own. */
import type { TestDatabase } from './database.ts'
import { type SpawnedServer, spawnServer } from './process.ts'
import { requestsTo } from './requests.ts'
import { type Settings, freePort } from './settings.ts'
import { until } from './until.ts'

/** Its requests go to its own port, though `url` is the issuer that both share. */
export async function spawnBeside(settings: Settings, database: TestDatabase): Promise<SpawnedServer> {
  const port = await freePort()
  const server = await spawnServer({ ...settings, PORT: port }, { database })
  const requests = requestsTo(`http://127.0.0.1:${port}`)
  const assertReady = async () => {
    if (!(await requests.get('/readyz')).ok) throw new Error('The second process is not ready.')
  }
  await until(assertReady)
  return { ...server, ...requests }
}
