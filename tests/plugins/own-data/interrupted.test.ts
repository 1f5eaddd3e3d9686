/**
 * The database goes away in the middle of the request by which somebody asks for their deletion, or keeps their account: whatever was done
 * of it, who tries again comes to one end, and each thing is told once.
 * @needs latchkey-own-data, latchkey-notices
 */
import { Client } from 'pg'
import { test } from 'vitest'
import { kernelOf } from '../../../src/http/kernel-of.ts'
import { startDatabaseProxy, type DatabaseProxy } from '../../support/database-proxy.ts'
import { createDatabase } from '../../support/database.ts'
import { openMailbox } from '../../support/mailbox.ts'
import { bearer } from '../../support/requests.ts'
import { startServer, type TestServer } from '../../support/server.ts'
import { getTokens, refresh, SEED } from '../../support/sign-in.ts'
import { createUserAgent, findForm } from '../../support/user-agent.ts'
import { eventsOf, open } from '../account/owner.ts'
import { as, giveName, somebody } from './people.ts'

interface Ground {
  server: TestServer
  proxy: DatabaseProxy
}

/** How the database fails a request; what it returns is over once it answers again. */
type Failing = (ground: Ground) => Promise<() => Promise<unknown>>

/** Milliseconds: sooner than a connection of ours gives up by itself. */
const LOCK_TIMEOUT = 300

async function openGround(): Promise<Ground> {
  // A commit that PostgreSQL refuses has another end.
  const database = await createDatabase({ refusing: false })
  const { pathname } = new URL(database.url)
  await database.query(`alter database "${pathname.slice(1)}" set lock_timeout = ${LOCK_TIMEOUT}`)
  const proxy = await startDatabaseProxy(database.url)
  return { proxy, server: await startServer({ DATABASE_URL: proxy.url }, { database, seed: SEED }) }
}

const cut =
  (statement: string, when: 'before' | 'after'): Failing =>
  async ({ proxy }) => {
    proxy.cutAt(statement, when)
    return async () => undefined
  }

const lock =
  (table: string): Failing =>
  async ({ server }) => {
    const holder = new Client({ connectionString: server.database.url })
    await holder.connect()
    await holder.query(`begin; lock table ${table} in share mode`)
    return async () => holder.end()
  }

const silence: Failing = async ({ proxy }) => {
  proxy.stall('answers')
  return async () => proxy.restore()
}

const ASKING: [string, Failing, 'done' | 'not done'][] = [
  ['is cut before anything is done', cut('user-begin-deletion', 'before'), 'not done'],
  ['is cut while things end', cut('consents-forget-all', 'before'), 'not done'],
  ['is cut before the mail is stored', cut('outbox-enqueue', 'before'), 'not done'],
  ['is cut after all is committed', cut('user-begin-deletion', 'after'), 'done'],
  ['holds the table of consents', lock('consents'), 'not done'],
  ['holds the table of users', lock('users'), 'not done'],
  ['passes on no answers', silence, 'not done'],
]

test.concurrent.for(ASKING)(
  'asking for it where the database %s: 503, and tried again it is asked for once',
  async ([, failing, done], { expect: check }) => {
    const ground = await openGround()
    const { server } = ground
    const { users } = server.server.oauth
    const user = await somebody(server)
    const agent = await as(server, user)
    const tokens = await getTokens(server, { scope: 'openid offline_access' }, agent)
    const mailbox = openMailbox(server)
    const page = await open(server, agent, '/data/delete')

    const over = await failing(ground)
    const failed = await agent.submit(page, 'delete-account')
    await over()
    check([failed.status, Number(failed.headers.get('retry-after')) > 0]).toEqual([503, true])
    // Asked until there is a connection again.
    await check.poll(async () => (await users.get(user.id)).deletesAt !== null).toBe(done === 'done')
    if (done === 'not done')
      check((await server.get('/userinfo', bearer(tokens.access_token))).status).toBe(200)

    const again = await agent.submit(page, 'delete-account')
    check((await users.get(user.id)).deletesAt).not.toBeNull()
    check((await refresh(server, tokens.refresh_token)).status).toBe(400)
    check((await server.get('/userinfo', bearer(tokens.access_token))).status).toBe(401)
    let next = await open(server, agent)
    if (done === 'done') {
      // Nobody is signed in who could ask once more: the way on tells what is so.
      const [, way] = /<a class="button primary" href="([^"]+)"><span>Sign in</.exec(again.body) ?? []
      check([again.status, way]).toEqual([403, '/sign-in?return_to=%2Faccount%2Fdata%2Fdelete'])
      next = await agent.get(server.url + way!)
    } else check(again.url).toBe(`${server.url}/account-deletion`)
    check(findForm(await giveName(agent, next, user), 'keep-account')).toBeDefined()
    check(await eventsOf(server, 'user.deletion_requested')).toHaveLength(1)
    const mails = await mailbox.all(String(user.claims['email']))
    check(mails.map(({ subject }) => subject)).toEqual(['Your account will be deleted'])
  },
)

/** With whether it is kept after that. */
const KEEPING: [string, Failing, 'kept' | 'not kept'][] = [
  ['is cut before anything is done', cut('user-cancel-deletion', 'before'), 'not kept'],
  ['is cut before the mail is stored', cut('outbox-enqueue', 'before'), 'not kept'],
  ['is cut after that is committed', cut('user-cancel-deletion', 'after'), 'kept'],
  ['is cut before they are signed in', cut('pending-session-take', 'before'), 'kept'],
  ['is cut after they are signed in', cut('pending-session-take', 'after'), 'kept'],
  ['holds the table of users', lock('users'), 'not kept'],
  ['passes on no answers', silence, 'not kept'],
]

test.concurrent.for(KEEPING)(
  'keeping it where the database %s: 503, and tried again it is kept once, and they read that it is',
  async ([, failing, kept], { expect: check }) => {
    const ground = await openGround()
    const { server } = ground
    const { users } = server.server.oauth
    const user = await somebody(server)
    const mailbox = openMailbox(server)
    const asking = await as(server, user)
    await asking.submit(await open(server, asking, '/data/delete'), 'delete-account')
    await mailbox.next(String(user.claims['email']))
    const agent = createUserAgent(server.url)
    const page = await giveName(agent, await open(server, agent), user)

    const over = await failing(ground)
    const failed = await agent.submit(page, 'keep-account')
    await over()
    check(failed.status).toBe(503)
    await check.poll(async () => (await users.get(user.id)).deletesAt === null).toBe(kept === 'kept')
    // Where it is kept nothing is asked any more, once the process has heard of what it stored itself.
    const { directory } = kernelOf(server.server)
    await check
      .poll(async () => (await directory.findUser(user.id))?.deletesAt === null)
      .toBe(kept === 'kept')

    const tried = await agent.submit(page, 'keep-account')
    check(tried.body).toContain('id="kept"')
    const again = await agent.submit(tried, 'keep-account')
    check([again.url, again.status]).toEqual([`${server.url}/account`, 200])
    check(again.body).toContain(user.username)
    check(await users.get(user.id)).toEqual({ ...user, endedAt: check.any(Number) })
    check(await eventsOf(server, 'user.deletion_cancelled')).toHaveLength(1)
    const mails = await mailbox.all(String(user.claims['email']))
    check(mails.map(({ subject }) => subject)).toEqual([
      'Your account will be deleted',
      'Your account is kept',
    ])
  },
)
