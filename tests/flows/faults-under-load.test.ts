/**
 * All grants at work at two processes, and a third that registers clients, while the database or a process breaks:
 * nothing that was acknowledged is lost, nothing that was spent comes back, no answer is a 5xx but 503, and all heals
 * by itself.
 */
import { execFileSync } from 'node:child_process'
import { rm, statfs, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import type { Books } from '../support/books.ts'
import { atEndOfFile, temporaryDirectory } from '../support/cleanup.ts'
import { execute } from '../support/connection.ts'
import { startDatabaseProxy, type DatabaseProxy } from '../support/database-proxy.ts'
import { createOwnPostgres, type OwnPostgres } from '../support/own-postgres.ts'
import { spawnServer } from '../support/process.ts'
import { statusOf } from '../support/service.ts'
import { setStage, type Stage } from '../support/stage.ts'

const SYNCHRONOUS = { synchronous_standby_names: 'standby', synchronous_commit: 'on' }

/** Everything running on this PostgreSQL, behind a proxy, and under load. */
async function setStageOn(postgres: OwnPostgres): Promise<Stage & { proxy: DatabaseProxy }> {
  const proxy = await startDatabaseProxy(postgres.url)
  return { ...(await setStage(proxy.url)), proxy }
}

async function untilReady({ servers }: Stage): Promise<void> {
  for (const server of servers) await expect.poll(async () => statusOf(server.get('/readyz'))).toBe(200)
}

/** Goes on until everybody has what they wanted; then looks at the books. */
async function assertHealed(stage: Stage): Promise<void> {
  await untilReady(stage)
  await stage.books.load.more(40)
  await stage.books.load.stop()
  await stage.books.assertKept()
  await stage.close()
}

const told = ({ answers }: Books, answer: RegExp): number =>
  [...answers].reduce((sum, [one, times]) => sum + (answer.test(one) ? times : 0), 0)

async function untilRefused(books: Books, more = told(books, / 503$/)): Promise<void> {
  await expect.poll(() => told(books, / 503$/)).toBeGreaterThan(more)
}

test('connections are cut, PostgreSQL crashes, a process is killed, the other one stopped; each is started again', async () => {
  const postgres = await createOwnPostgres(await temporaryDirectory(), { begins: 'migrated' })
  await postgres.start()
  const stage = await setStageOn(postgres)
  for (let times = 0; times < 3; times++) {
    await stage.proxy.cut()
    await stage.proxy.restore()
    await stage.books.load.more(20)
  }
  await postgres.stop('SIGQUIT')
  await untilRefused(stage.books)
  await postgres.start()
  await untilReady(stage)
  await stage.books.load.more(20)
  expect(told(stage.books, / cut$/)).toBe(0)

  for (const [which, signal, status] of [[1, 'SIGKILL', null], [0, 'SIGTERM', 0]] as const) {
    const { settings, database, stop } = stage.servers[which]!
    expect(await stop(signal)).toBe(status)
    stage.servers[which]!.stop = (await spawnServer(settings, { database })).stop
    await stage.books.load.more(20)
  }
  await assertHealed(stage)
}) // prettier-ignore

/** Full to the last block; returns what makes room again. */
async function fill(directory: string): Promise<() => Promise<void>> {
  const ballast = join(directory, 'ballast')
  const { bavail, bsize } = await statfs(directory)
  await writeFile(ballast, Buffer.alloc(bavail * bsize)).catch(() => {})
  return async () => rm(ballast, { force: true })
}

/** Of 160 MB; false where we may not. */
function mountSmallDisk(directory: string): boolean {
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=160m,mode=755', 'tmpfs', directory], {
      stdio: 'ignore',
    })
  } catch {
    process.stderr.write('\n!!! SKIPPED: no small disk can be mounted here, so none is filled.\n\n')
    return false
  }
  atEndOfFile(async () => execFileSync('umount', ['-l', directory]))
  return true
}

test('the disk of the database is full, and has room again', async (context) => {
  const directory = await temporaryDirectory()
  context.skip(!mountSmallDisk(directory))
  const postgres = await createOwnPostgres(directory)
  const small = { max_wal_size: '32MB', min_wal_size: '32MB', wal_recycle: 'off' }
  await postgres.start(small)
  const stage = await setStageOn(postgres)
  const makeRoom = await fill(directory)
  await untilRefused(stage.books)
  await makeRoom()
  // Without room for its log PostgreSQL crashes, and gives up when that goes on: then its operator starts it again.
  await expect
    .poll(async () => {
      if (!postgres.isRunning()) await postgres.start(small)
      return execute(postgres.url, 'select 1 as alive')
    })
    .toEqual([{ alive: 1 }])
  await assertHealed(stage)
})

test('the primary is gone for good, and its synchronous standby promoted', async () => {
  const primary = await createOwnPostgres(await temporaryDirectory(), { begins: 'migrated' })
  const standby = await createOwnPostgres(await temporaryDirectory(), { begins: 'nothing' })
  await primary.copyTo(standby)
  await standby.sh('touch "$1/standby.signal"', standby.cluster)
  await primary.start(SYNCHRONOUS)
  await standby.start({
    primary_conninfo: `host=${primary.socketDir} user=postgres application_name=standby`,
  })
  const states = `select sync_state from pg_stat_replication where application_name = 'standby'`
  await expect.poll(async () => execute(primary.url, states)).toEqual([{ sync_state: 'sync' }])
  const stage = await setStageOn(primary)
  await primary.stop('SIGQUIT')
  await stage.proxy.cut()
  await execute(standby.url, 'select pg_promote()')
  await stage.proxy.restore(standby.url)
  await assertHealed(stage)
})
