/** The `latchkey` command of a checkout, whatever Node calls it; an installed package's is in tests/flows/stranger-grant.test.ts. */
import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { cp, mkdir, readFile } from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { temporaryDirectory } from '../support/cleanup.ts'
import { createDatabase } from '../support/database.ts'
import { olderNode } from '../support/older-node.ts'
import { freePort } from '../support/settings.ts'
import { statusOf } from '../support/service.ts'
import { requestsTo } from '../support/requests.ts'

const run = promisify(execFile)
const checkout = resolve(import.meta.dirname, '../..')
const launcher = join(checkout, 'bin/latchkey.js')

/** As in a shell: the machine's own Node first, and settings of ours. */
async function environment(node: string): Promise<Record<string, string>> {
  const HOME = await temporaryDirectory()
  const PATH = `${dirname(node)}:${process.env['PATH']}`
  return {
    HOME,
    PATH,
    DATABASE_URL: (await createDatabase()).url,
    SECRET_KEY: 'k'.repeat(32),
    LOG_LEVEL: 'error',
  }
}

test.each([
  ['this Node', process.execPath],
  ['an older one', olderNode],
])('npx latchkey runs a command under %s, and prints nothing else', async (_name, node) => {
  if (node === undefined) return
  const env = {
    ...(await environment(node)),
    npm_config_offline: 'true',
    npm_config_update_notifier: 'false',
  }
  const { stdout, stderr } = await run('npx', ['latchkey', 'client', 'list', '--json'], {
    cwd: checkout,
    env,
  })
  expect(JSON.parse(stdout)).toEqual([])
  expect(stderr).toBe('')
})

test('a refusal is the exit status of the command', async () => {
  const node = olderNode ?? process.execPath
  const failed = await run(node, [launcher, 'client', 'show', 'nobody'], {
    env: await environment(node),
  }).catch((error: { code: number; stderr: string }) => error)
  expect(failed).toMatchObject({ code: 1, stderr: expect.stringMatching(/not registered/) as string })
})

test.skipIf(olderNode === undefined)(
  'under an older Node, a signal ends the server that it runs',
  async () => {
    const PORT = String(await freePort())
    const env = { ...(await environment(olderNode!)), PORT }
    const child = spawn(olderNode!, [launcher, 'serve'], { env, stdio: 'ignore' })
    const exit = once(child, 'exit')
    const server = requestsTo(`http://127.0.0.1:${PORT}`)
    await expect.poll(() => statusOf(server.get('/readyz')).catch(() => 0)).toBe(200)
    child.kill('SIGTERM')
    expect(await exit).toEqual([0, null])
    await expect(server.get('/readyz')).rejects.toThrow(/fetch failed/)
  },
)

test.skipIf(olderNode === undefined)('an older Node with nothing beside it is told what to do', async () => {
  const folder = await temporaryDirectory()
  await mkdir(join(folder, 'bin'))
  await cp(launcher, join(folder, 'bin/latchkey.js'))
  await cp(join(checkout, 'package.json'), join(folder, 'package.json'))
  await expect(run(olderNode!, [join(folder, 'bin/latchkey.js')])).rejects.toMatchObject({
    code: 1,
    stdout: '',
    stderr: expect.stringMatching(
      /^Latchkey needs Node 24\.12 or newer, and this is \d+\.\d+\.\d+\. Install/,
    ) as string,
  })
})

test.skipIf(olderNode === undefined)(
  '`npm ci` under an older Node says nothing of each package that wants a newer one',
  async () => {
    const folder = await temporaryDirectory()
    const { workspaces } = JSON.parse(await readFile(join(checkout, 'package.json'), 'utf8')) as {
      workspaces: string[]
    }
    const manifests = ['.', ...workspaces].map((workspace) => join(workspace, 'package.json'))
    for (const file of ['.npmrc', 'package-lock.json', ...manifests])
      await cp(join(checkout, file), join(folder, file))
    const { PATH, HOME } = await environment(olderNode!)
    const args = ['ci', '--dry-run', '--offline', '--ignore-scripts', '--no-update-notifier']
    const { stdout, stderr } = await run('npm', args, { cwd: folder, env: { PATH: PATH!, HOME: HOME! } })
    expect(stdout).toMatch(/^added \d+ packages/m)
    expect(stderr).toBe('')
  },
)
