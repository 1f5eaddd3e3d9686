/** What a start does once for a database is done beside the server, which never holds what it took. */
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { temporaryDirectory } from '../support/cleanup.ts'
import { createEmptyDatabase } from '../support/database.ts'
import { runCommand, spawnServer } from '../support/process.ts'

const seed = {
  resources: [
    { resource: 'https://books.example', name: 'Books', access_token_lifetime: 60, scopes: ['read'] },
  ],
  scopes: [{ name: 'write', description: 'Write books' }],
  clients: [{ client_id: 'shop', client_secret: 's'.repeat(40), scope: ['read', 'write'] }],
  users: [{ username: 'reader', password: 'correct horse battery' }],
}
/** Says which process loads anything of MikroORM. */
const watch = `import { registerHooks } from 'node:module'
registerHooks({
  resolve(specifier, context, next) {
    if (specifier.startsWith('@mikro-orm/')) console.error('MikroORM in ' + process.pid)
    return next(specifier, context)
  },
})`
const NODE_OPTIONS = `--import data:text/javascript,${encodeURIComponent(watch)}`

/** The processes that have loaded MikroORM. */
function loadedBy(output: string): number[] {
  return [...new Set([...output.matchAll(/MikroORM in (\d+)/g)].map(([, pid]) => Number(pid)))]
}

test.each([1, 2])('on an empty database, with %d worker(s)', async (WORKERS) => {
  const database = await createEmptyDatabase()
  const first = await spawnServer({ NODE_OPTIONS, WORKERS }, { database, seed })
  expect(loadedBy(first.output())).toHaveLength(1)
  expect(loadedBy(first.output())).not.toContain(first.pid)
  const body = new URLSearchParams({ grant_type: 'client_credentials', scope: 'write' })
  const headers = { authorization: `Basic ${btoa(`shop:${'s'.repeat(40)}`)}` }
  const answer = await fetch(`${first.url}/token`, { method: 'POST', body, headers })
  expect([answer.status, await answer.json()]).toMatchObject([200, { scope: 'write' }])
  expect(await first.stop()).toBe(0)

  const settings = { ...first.settings, WORKERS: 1 }
  const second = await spawnServer(settings, { database })
  expect(loadedBy(second.output())).toEqual([])
  expect(await second.stop()).toBe(0)

  const changed = { ...seed, scopes: [{ name: 'write', description: 'Sell books' }] }
  await writeFile(String(first.settings.SEED_FILE), JSON.stringify(changed))
  const third = await spawnServer(settings, { database })
  expect(loadedBy(third.output())).toEqual([])
  const { stdout } = await runCommand(['scope', 'show', 'write', '--json'], { ...settings, NODE_OPTIONS: '' })
  expect(JSON.parse(stdout)).toEqual(changed.scopes[0])
})

test.each([1, 2])(
  'what it refuses is said once, with %d worker(s), and nothing is left behind',
  async (WORKERS) => {
    const database = await createEmptyDatabase()
    const SEED_FILE = join(await temporaryDirectory(), 'seed.json')
    await writeFile(
      SEED_FILE,
      JSON.stringify({ clients: [{ client_id: 'shop', redirect_uris: ['not a place'] }] }),
    )
    const SECRET_KEY = 'k'.repeat(40)
    const settings = {
      DATABASE_URL: database.url,
      SECRET_KEY,
      PORT: 0,
      LOG_LEVEL: 'silent',
      SEED_FILE,
      WORKERS,
    }
    const { status, stdout, stderr } = await runCommand(['serve'], settings)
    expect({ status, stdout }).toEqual({ status: 1, stdout: '' })
    expect(stderr).toMatch(/^SEED_FILE .*: clients\[0\]: .*\n$/)
    const open = 'select from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()'
    await expect.poll(async () => database.query(open)).toHaveLength(0)
  },
)
