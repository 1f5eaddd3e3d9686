// Owns the visit to every page of a real server for administrators, and of the account of somebody who holds much,
// with all that it made the server read. The database is one that `fill.ts` has filled.

import { fastify, type FastifyInstance } from 'fastify'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type AddressInfo } from 'node:net'
import { Client } from 'pg'
import { latchkey } from '../src/index.ts'
import { createBrowser, type Browser } from './browser.ts'
import { authorizationId, userId } from './filling.ts'
import { accountPages, administrationPages } from './page-addresses.ts'
import { explainedPool, type Ran } from './plans.ts'

export interface Read extends Ran {
  /** Or `start`, for what the server does by itself. */
  page: string
}

export interface Visit {
  /** Of each statement on each page; none of them changed anything but what signing in does. */
  reads: Read[]
  /** That answered anything but 200. */
  failed: string[]
  app: FastifyInstance
  close: () => Promise<void>
}

const password = randomBytes(16).toString('hex')
/** Holds a twentieth of everything. */
const holder = 'user-1'

/** `settings` are PostgreSQL's, for each connection. Nobody signs in to this database but here. */
export async function visitPages(
  url: string,
  settings: Readonly<Record<string, string>> = {},
): Promise<Visit> {
  let page = 'start'
  const reads: Read[] = []
  const failed: string[] = []
  const pool = explainedPool(url, (ran) => reads.push({ page, ...ran }), settings)
  const port = await freePort()
  const origin = `http://127.0.0.1:${port}`
  const app = fastify({ pluginTimeout: 0 })
  const own = { OIDC_ISSUER: origin, SECRET_KEY: randomBytes(32).toString('hex') }
  await app.register(latchkey, { settings: own, pool, janitor: false })
  await app.listen({ host: '127.0.0.1', port })

  async function visit(username: string, addresses: readonly string[]): Promise<void> {
    page = 'sign in'
    const browser = await signedIn(origin, username)
    for (const address of addresses) {
      page = address
      const { status } = await browser.get(`${origin}${address}`)
      if (status !== 200) failed.push(`${address}: ${status}`)
    }
  }

  await app.oauth.users.create({ username: 'administrator', password, roles: ['admin'] })
  const sample = await prepare(url)
  await visit('administrator', administrationPages(sample))
  await visit(holder, accountPages(sample))
  page = 'has an administrator'
  await app.oauth.users.hasRole('admin')
  const close = async (): Promise<void> => {
    await app.close()
    await pool.end()
  }
  return { reads, failed, app, close }
}

/** Ids to ask for, some from the middle; and the holder gets the password of the administrator. */
async function prepare(url: string) {
  const client = new Client({ connectionString: url })
  await client.connect()
  await client.query(`update users set password_hash = (select password_hash from users where username_key = 'administrator')
    where username_key = '${holder}'`)
  const { rows } = await client.query<
    Record<'holder' | 'somebody' | 'authorization' | 'event' | 'requestId', string>
  >(
    `select ${userId(1)}::text as "holder", ${userId(7)}::text as "somebody", ${authorizationId(400)}::text as "authorization",
      md5('request-' || 19)::uuid::text as "requestId",
      (select id::text from audit_events where id < (lpad(to_hex((extract(epoch from now() - interval '40 days') * 1000)::bigint), 12, '0')
        || repeat('0', 20))::uuid order by id desc limit 1) as "event"`,
  )
  await client.end()
  return rows[0]!
}

async function signedIn(origin: string, username: string): Promise<Browser> {
  const browser = createBrowser()
  await browser.submit(await browser.get(`${origin}/sign-in`), { username, password })
  return browser
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  server.close()
  await once(server, 'close')
  return port
}
