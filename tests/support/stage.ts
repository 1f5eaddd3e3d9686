/** Two processes of a server on one database, a third that registers clients, and all of them at work with books kept. */
import { OAuthError } from '../../src/protocol/errors.ts'
import { isRetryable } from '../../src/store/failures.ts'
import { spawnBeside } from './beside.ts'
import { type Books, BOOKS_SEED, BOOKS_SETTINGS, keepBooks, type Register } from './books.ts'
import type { TestDatabase } from './database.ts'
import { type SpawnedServer, spawnServer } from './process.ts'
import { startServer, type TestServer } from './server.ts'

export interface Stage {
  servers: SpawnedServer[]
  desk: TestServer
  books: Books
  close(): Promise<void>
}

export interface StageOptions {
  /** Where it is, when `url` only leads there. */
  database?: TestDatabase
  settings?: Readonly<Record<string, string | boolean | number>>
}

/** Everything running on the database of `url`, and under load: revocations and sign-outs of every kind are acknowledged, and others under way. */
export async function setStage(url: string, { database, settings }: StageOptions = {}): Promise<Stage> {
  const given = { ...BOOKS_SETTINGS, ...settings, DATABASE_URL: url }
  const one = await spawnServer(given, { seed: BOOKS_SEED, ...(database === undefined ? {} : { database }) })
  const { PORT: _port, ...shared } = one.settings
  const [two, desk] = await Promise.all([
    spawnBeside(one.settings, one.database),
    startServer(shared, { database: one.database }),
  ])
  const servers = [one, two]
  const books = await keepBooks(servers, registerAt(desk))
  await books.load.more(40)
  await books.untilAllKinds()
  const close = async () => {
    await desk.close()
    for (const server of servers) await server.stop('SIGKILL')
  }
  return { servers, desk, books, close }
}

/** One that only seemed to fail is there the next time. What PostgreSQL refused to serialize is for the server to do again. */
function registerAt({ server }: TestServer): Register {
  const { clients } = server.oauth
  return async (clientId) => {
    try {
      if ((await clients.find(clientId)) === null)
        await clients.create({ client_id: clientId, redirect_uris: ['https://rp.example/cb'] })
      return true
    } catch (error) {
      if (error instanceof OAuthError || isRetryable(error)) throw error
      return false
    }
  }
}
