/**
 * The settings under which a test's server runs: those of design.md §5, with a port, a database and a secret
 * of its own.
 */
import { randomBytes, randomInt } from 'node:crypto'
import { writeFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { once } from 'node:events'
import { join } from 'node:path'
import { temporaryDirectory } from './cleanup.ts'
import { type TestDatabase, createDatabase } from './database.ts'
import { createKeyedDatabase } from './keys-made-ahead.ts'
import { LEFT_OUT } from './left-out.ts'

/** Settings by their names in the environment. */
export type Settings = Record<string, string | number | boolean | undefined>

export interface ServerOptions {
  /**
   * The content of `SEED_FILE`; without it an empty one, so that no demo is seeded. `'demo'` sets no
   * `SEED_FILE`.
   */
  seed?: object | 'demo'
  /** A database to share with another server; by default a new one, dropped when the server closes. */
  database?: TestDatabase
  /** Whether the server is to make its first signing keys itself, and note it; by default a new database has some. */
  makesKeys?: boolean
}

export interface Prepared {
  /** The settings as given to the server, for a second server or a command beside it. */
  settings: Settings
  database: TestDatabase
  /** Whether the database was made for this server. */
  ownsDatabase: boolean
  /** The issuer, without a slash at the end. */
  url: string
}

/** KiB: what people choose is hashed in a millisecond. A test for which it is to take its time says so. */
const QUICK = 1024

/** For a test in which passwords wait for each other: they take as long as in production. */
export const HASHING_SLOWLY = { OIDC_PASSWORD_HASH_MEMORY: 19_456 }

/** A production start takes no less than the default. */
const isProduction = ({ NODE_ENV, HOST, OIDC_ISSUER }: Settings): boolean =>
  NODE_ENV === 'production' ||
  (HOST !== undefined && HOST !== '127.0.0.1') ||
  (OIDC_ISSUER !== undefined &&
    !/^http:\/\/(?:127\.0\.0\.1|localhost|\[::1\])(?::\d+)?(?:\/|$)/.test(String(OIDC_ISSUER)))

/** A test that sets one of these has its own idea of what is stored, and under what. */
const ITS_OWN = ['SECRET_KEY', 'DATABASE_URL', 'DATABASE_SCHEMA']

async function databaseFor(given: Settings, { database, makesKeys = false }: ServerOptions) {
  if (database === undefined && !makesKeys && ITS_OWN.every((name) => !(name in given)))
    return createKeyedDatabase()
  return { database: database ?? (await createDatabase()), secretKey: randomBytes(32).toString('hex') }
}

/** What a test leaves out, and what its run does. */
function without({ WITHOUT }: Settings): Settings {
  const all = [...LEFT_OUT, ...(WITHOUT === undefined ? [] : [String(WITHOUT)])]
  return all.length === 0 ? {} : { WITHOUT: all.join(',') }
}

/** Completes a test's settings. What is given wins. */
export async function prepare(given: Settings, options: ServerOptions): Promise<Prepared> {
  const { database, secretKey: SECRET_KEY } = await databaseFor(given, options)
  const directory = await temporaryDirectory()
  const port = given.PORT ?? (await freePort())
  const settings: Settings = {
    HOST: '127.0.0.1',
    PORT: port,
    OIDC_ISSUER: `http://127.0.0.1:${port}`,
    DATABASE_URL: database.url,
    DATA_DIR: join(directory, 'data'),
    SECRET_KEY,
    LOG_LEVEL: 'trace',
    ...(isProduction(given) ? {} : { OIDC_PASSWORD_HASH_MEMORY: QUICK }),
    ...given,
    ...without(given),
  }
  if (options.seed !== 'demo' && settings.SEED_FILE === undefined) {
    settings.SEED_FILE = join(directory, 'seed.json')
    await writeFile(settings.SEED_FILE, JSON.stringify(options.seed ?? {}))
  }
  return {
    settings,
    database,
    ownsDatabase: options.database === undefined,
    url: String(settings.OIDC_ISSUER),
  }
}

const LOWEST_PORT = 16_384
let next = randomInt(2048)

/**
 * A port that was free a moment ago. It is below those that systems give to connections and to listeners that name none
 * (32768 and up), and each worker of a run has its own ones: nobody takes it before its user does, as a rule.
 */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = LOWEST_PORT + 8 * (next++ % 2048) + (Number(process.env.VITEST_POOL_ID ?? 0) % 8)
    const server = createServer().listen(port, '127.0.0.1')
    try {
      await once(server, 'listening')
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'EADDRINUSE') continue
      throw error
    }
    server.close()
    await once(server, 'close')
    return port
  }
}

/** Runs something that binds a port the caller did not choose, again when the port was taken meanwhile. */
export async function withFreePort<T>(
  given: Settings,
  run: () => Promise<T>,
  isTaken: (error: unknown) => boolean,
): Promise<T> {
  for (let tries = given.PORT === undefined ? 3 : 1; ;) {
    try {
      return await run()
    } catch (error) {
      if (--tries === 0 || !isTaken(error)) throw error
    }
  }
}
