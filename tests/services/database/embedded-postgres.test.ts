import { existsSync } from 'node:fs'
import { chown, lstat, mkdir, readFile, readdir, rm, stat, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { beforeAll, describe, expect, test } from 'vitest'
import { startEmbeddedPostgres } from '../../../src/services/database/embedded-postgres.ts'
import { atEndOfFile, temporaryDirectory } from '../../support/cleanup.ts'
import { execute } from '../../support/connection.ts'
import { binariesPackage, canRunHere, copyCheckout, startProcess } from '../../support/embedded-postgres.ts'

const isRoot = process.getuid?.() === 0
const nobody = 65534

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}

async function postmasterPid(cluster: string): Promise<number> {
  return Number((await readFile(join(cluster, 'postmaster.pid'), 'utf8')).split('\n')[0])
}

describe('embedded PostgreSQL', () => {
  let dataDir: string

  beforeAll(async () => {
    dataDir = join(await temporaryDirectory(), 'data')
  })

  test('makes a durable cluster and the database at the first start', async () => {
    const postgres = await startEmbeddedPostgres({ dataDir })
    expect(postgres).toMatchObject({ created: true, relocated: false, owned: true })
    expect(postgres.dataDir).toBe(join(dataDir, 'postgres'))
    const [row] = await execute(
      postgres.url,
      `select current_database() as name, current_setting('fsync') as fsync, current_setting('listen_addresses') as listen,
        current_setting('synchronous_commit') as commit, current_setting('server_version_num')::int / 10000 as major`,
    )
    expect(row).toEqual({ name: 'latchkey', fsync: 'on', listen: '', commit: 'on', major: 18 })
    expect((await stat(postgres.host)).mode & 0o777).toBe(0o700)
    await execute(postgres.url, `create table kept as select 'café' as word`)
    await postgres.stop()
    expect(existsSync(postgres.host)).toBe(false)
    expect(existsSync(join(postgres.dataDir, 'postmaster.pid'))).toBe(false)
  })

  test('keeps the data and leaves other files in the data directory alone', async () => {
    const secret = join(dataDir, 'secret')
    await writeFile(secret, 'x', { mode: 0o600 })
    const postgres = await startEmbeddedPostgres({ dataDir })
    expect(postgres).toMatchObject({ created: false, owned: true })
    expect(await execute(postgres.url, 'select upper(word) as word from kept')).toEqual([{ word: 'CAFÉ' }])
    const { uid, mode } = await stat(secret)
    expect([uid, mode & 0o777]).toEqual([process.getuid?.(), 0o600])
    await postgres.stop()
  })

  test('attaches to one that another process runs, and outlives neither', async () => {
    const owner = await startProcess(dataDir)
    const guest = await startEmbeddedPostgres({ dataDir })
    expect(guest).toMatchObject({ owned: false, created: false, host: owner.result.host })
    await guest.stop()
    expect(await execute(owner.result.url, 'select count(*)::int as n from kept')).toEqual([{ n: 1 }])
    await owner.leave()
    expect(existsSync(owner.result.host)).toBe(false)
  })

  test('goes on for a guest when the process that started it leaves', async () => {
    const owner = await startProcess(dataDir)
    const guest = await startEmbeddedPostgres({ dataDir })
    await owner.leave()
    expect(await execute(guest.url, 'select count(*)::int as n from kept')).toEqual([{ n: 1 }])
    await guest.stop()
    expect(existsSync(guest.host)).toBe(false)
  })

  test('dies with its owner, even by SIGKILL, and the next start finds every row', async () => {
    const owner = await startProcess(dataDir)
    const pid = await postmasterPid(owner.result.dataDir)
    const rows = 'insert into kept select generate_series(1, 1000)::text'
    await execute(owner.result.url, rows)
    await owner.kill()
    const next = await startEmbeddedPostgres({ dataDir })
    expect(next.owned).toBe(true)
    expect(isAlive(pid)).toBe(false)
    expect(existsSync(owner.result.host)).toBe(false)
    expect(await execute(next.url, 'select count(*)::int as n from kept')).toEqual([{ n: 1001 }])
    await next.stop()
  })

  test('recovers when PostgreSQL itself was killed', async () => {
    const owner = await startProcess(dataDir)
    process.kill(await postmasterPid(owner.result.dataDir), 'SIGKILL')
    const next = await startEmbeddedPostgres({ dataDir })
    expect(await execute(next.url, 'select count(*)::int as n from kept')).toEqual([{ n: 1001 }])
    await owner.leave()
    await next.stop()
  })

  test('is not fooled by a lock file whose pid now belongs to another program', async () => {
    const lock = join(dataDir, 'postgres/postmaster.pid')
    const lines = [process.pid, join(dataDir, 'postgres'), 1, 5432, '/tmp/gone', '', '1 1', 'ready']
    await writeFile(lock, `${lines.join('\n')}\n`, { mode: 0o600 })
    const postgres = await startEmbeddedPostgres({ dataDir })
    expect(postgres.owned).toBe(true)
    await postgres.stop()
  })

  test('starts where TMPDIR is too long for a socket', async () => {
    const long = join(await temporaryDirectory(), 'x'.repeat(120))
    await mkdir(long)
    const process = await startProcess(dataDir, { env: { TMPDIR: long } })
    expect(process.result.error).toBeUndefined()
    expect(Buffer.byteLength(process.result.host)).toBeLessThan(90)
    await process.leave()
  })

  test('says in one sentence what PostgreSQL has against a cluster', async () => {
    await writeFile(join(dataDir, 'postgres/postgresql.auto.conf'), 'no_such_setting = 1\n')
    const start = startEmbeddedPostgres({ dataDir })
    await expect(start).rejects.toThrow(/did not start \(FATAL: .*\): see .*server\.log, or set DATABASE_URL/)
  })

  test('of two first starts at the same time, one makes the cluster and both use it', async () => {
    const contested = join(await temporaryDirectory(), 'data')
    const processes = await Promise.all([1, 2].map(() => startProcess(contested)))
    const results = processes.map(({ result }) => result)
    expect(results.map(({ error }) => error)).toEqual([undefined, undefined])
    expect(results.filter(({ created }) => created)).toHaveLength(1)
    expect(results.filter(({ owned }) => owned)).toHaveLength(1)
    expect(new Set(results.map(({ host }) => host)).size).toBe(1)
    expect(await readdir(contested)).toEqual(['postgres'])
    await Promise.all(processes.map((one) => one.leave()))
    expect(existsSync(results[0]!.host)).toBe(false)
  })

  test('tells where to turn when the binaries are not installed', async () => {
    const checkout = await copyCheckout(await temporaryDirectory(), { binaries: false })
    const { result } = await startProcess(join(checkout, 'data'), { checkout })
    expect(result.error).toMatch(/is not installed\): set DATABASE_URL/)
  })
})

describe.runIf(isRoot)('embedded PostgreSQL for root', () => {
  test('in a checkout that only root can enter, lies elsewhere, and belongs to that data directory only', async () => {
    const copies = await binaryCopies()
    const checkout = await copyCheckout(await temporaryDirectory(0o700))
    const dataDir = join(checkout, 'data')
    const first = await startProcess(dataDir, { checkout })
    expect(first.result).toMatchObject({ created: true, relocated: true, owned: true })
    const home = dirname(first.result.dataDir)
    atEndOfFile(() => rm(home, { recursive: true }))
    const made = (await binaryCopies()).filter((path) => !copies.includes(path))
    for (const path of made) atEndOfFile(() => rm(path, { recursive: true }))
    expect(await readFile(join(home, 'origin'), 'utf8')).toBe(`${dataDir}\n`)
    expect((await stat(home)).uid).toBe(0)
    await first.leave()
    const again = await startProcess(dataDir, { checkout })
    expect(again.result).toMatchObject({ created: false, relocated: true, dataDir: first.result.dataDir })
    await again.leave()

    await rm(dataDir, { recursive: true })
    const afresh = await startProcess(dataDir, { checkout })
    atEndOfFile(() => rm(dirname(afresh.result.dataDir), { recursive: true }))
    expect(afresh.result).toMatchObject({ created: true, relocated: true })
    await afresh.leave()
  })
})

describe.runIf(isRoot && canRunHere(nobody))('embedded PostgreSQL for an ordinary user', () => {
  test('lies in the data directory, with binaries of its own where the installed ones lack their links', async () => {
    const checkout = await copyCheckout(await temporaryDirectory())
    const library = join(checkout, 'node_modules', binariesPackage, 'native/lib')
    for (const name of await readdir(library)) {
      if ((await lstat(join(library, name))).isSymbolicLink()) await rm(join(library, name))
    }
    const dataDir = join(checkout, 'data')
    await mkdir(dataDir)
    await chown(dataDir, nobody, nobody)
    const process = await startProcess(dataDir, { checkout, uid: nobody })
    expect(process.result).toMatchObject({ created: true, relocated: false, owned: true })
    expect(await readdir(dataDir)).toEqual(['postgres', expect.stringMatching(/^postgresql-18/)])
    await process.leave()

    const asRoot = await startEmbeddedPostgres({ dataDir })
    expect(asRoot).toMatchObject({ created: false, owned: true })
    expect((await stat(asRoot.dataDir)).uid).toBe(nobody)
    await asRoot.stop()
  })

  test('refuses a cluster of somebody else', async () => {
    const dataDir = await temporaryDirectory()
    await mkdir(join(dataDir, 'postgres'))
    const checkout = await copyCheckout(await temporaryDirectory(), { binaries: false })
    const { result } = await startProcess(dataDir, { checkout, uid: nobody })
    expect(result.error).toMatch(/belongs to uid 0/)
  })
})

async function binaryCopies(): Promise<string[]> {
  const names = await readdir('/var/lib/latchkey').catch(() => [])
  return names.filter((name) => name.startsWith('postgresql-')).map((name) => join('/var/lib/latchkey', name))
}
