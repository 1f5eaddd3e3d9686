/** The server as its operator runs it, as a child, and the commands beside it. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { connect } from 'node:net'
import { join, resolve } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { inject } from 'vitest'
import { atEndOfFile, temporaryDirectory } from './cleanup.ts'
import type { TestDatabase } from './database.ts'
import { type Requests, requestsTo } from './requests.ts'
import { type ServerOptions, type Settings, prepare, withFreePort } from './settings.ts'

const root = resolve(import.meta.dirname, '../..')
const main = join(root, 'src/main.ts')
/** Where what is compiled once is kept, as `npm start` has it. */
export const KEPT = join(root, 'node_modules/.cache/latchkey')
/** That of installed packages, whose folders are not ours, is kept only for the run. */
const cacheOf = (program?: string): string =>
  program === undefined ? KEPT : join(inject('runDirectory'), 'compiled')
/** A process of a test is young for all of its life: what collects its garbage beside it costs more than it spares. */
const YOUNG = ['--single-threaded-gc', '--min-semi-space-size=16']
const startTimeout = 120_000
const running = new Set<ChildProcess>()
process.once('exit', () => running.forEach((child) => child.kill('SIGKILL')))

interface Program {
  /** The `latchkey` command of an installed package, to run instead of the checkout's own. */
  program?: string
  /** The checkout's own as its operators run it, and not the bundle of the run. */
  fromSources?: boolean
}

export interface SpawnOptions extends ServerOptions, Program {
  /** Told of the process as soon as there is one, long before it is ready. */
  onLaunch?: (child: ChildProcess) => void
}

interface Launch extends Program {
  /** What it reads. */
  input?: string
}

export interface SpawnedServer extends Requests {
  /** The issuer, without a slash at the end. */
  url: string
  pid: number
  database: TestDatabase
  settings: Settings
  /** All of stdout and stderr so far, in the order in which it came. */
  output(): string
  /** Sends the signal to the server's process and returns its exit status; null when a signal ended it. */
  stop(signal?: NodeJS.Signals): Promise<number | null>
}

/**
 * Starts a server and waits until discovery answers 200. @throws Error with its output when it ends before
 */
export async function spawnServer(given: Settings = {}, options: SpawnOptions = {}): Promise<SpawnedServer> {
  return withFreePort(
    given,
    () => start(given, options),
    (error) => /EADDRINUSE|in use/.test(String(error)),
  )
}

/** Runs a command of ours to its end, e.g. `['client', 'list', '--json']`, under a server's settings; it reads `input`. */
export async function runCommand(
  args: string[],
  settings: Settings = {},
  program?: string,
  input = '',
): Promise<{ status: number | null; stdout: string; stderr: string }> {
  const { child, stdout, stderr } = launch(
    args,
    { DATA_DIR: await temporaryDirectory(), ...settings },
    { ...(program === undefined ? {} : { program }), input },
  )
  const [status] = (await once(child, 'close')) as [number | null]
  return { status, stdout: stdout.join(''), stderr: stderr.join('') }
}

async function start(given: Settings, options: SpawnOptions): Promise<SpawnedServer> {
  const { settings, database, ownsDatabase, url } = await prepare(given, options)
  const { child, both } = launch(['serve'], settings, options)
  options.onLaunch?.(child)
  const closed = once(child, 'close') as Promise<[number | null]>
  const stop = async (signal: NodeJS.Signals = 'SIGTERM') => {
    child.kill(signal)
    return (await closed)[0]
  }
  atEndOfFile(async () => {
    await stop('SIGKILL')
    if (ownsDatabase) await database.drop()
  })
  const output = () => both.join('')
  await untilReady(url, child, output)
  await untilSaid(output, settings)
  return { url, pid: child.pid ?? 0, database, settings, output, stop, ...requestsTo(url) }
}

/**
 * The child sees its settings and nothing of our environment, which may hold settings of the developer's own.
 */
function launch(args: string[], settings: Settings, { program, fromSources = false, input = '' }: Launch) {
  const given = Object.entries(settings).filter(([, value]) => value !== undefined)
  const { PATH, HOME, TMPDIR } = process.env
  const env = {
    PATH,
    HOME,
    TMPDIR,
    NODE_COMPILE_CACHE: cacheOf(program),
    ...Object.fromEntries(given.map(([name, value]) => [name, String(value)])),
  }
  const [command, first] =
    program === undefined
      ? [
          process.execPath,
          [...YOUNG, ...(fromSources ? [main] : ownProgram(settings['PLUGINS'] !== undefined))],
        ]
      : [program, []]
  const child = spawn(command, [...first, ...args], { env, stdio: ['pipe', 'pipe', 'pipe'] })
  // Who ends without reading it does not mind.
  child.stdin.on('error', () => {}).end(input)
  running.add(child)
  child.once('exit', () => running.delete(child))
  const stdout: string[] = []
  const stderr: string[] = []
  const both: string[] = []
  child.stdout.setEncoding('utf8').on('data', (text: string) => both.push(text) && stdout.push(text))
  child.stderr.setEncoding('utf8').on('data', (text: string) => both.push(text) && stderr.push(text))
  return { child, stdout, stderr, both }
}

/** What Node runs for a command of ours; `hasPlugins` of others, that is, which share modules with it. */
export function ownProgram(hasPlugins: boolean): string[] {
  const { main: bundled, sharing } = inject('serverProgram')
  return hasPlugins ? ['--import', sharing, bundled] : [bundled]
}

async function untilReady(url: string, child: ChildProcess, output: () => string): Promise<void> {
  const deadline = Date.now() + startTimeout
  const discovery = `${url}/.well-known/openid-configuration`
  while (Date.now() < deadline) {
    if (child.exitCode !== null || child.signalCode !== null) break
    if ((await isListening(discovery)) && (await isAnswered(discovery))) return
    await sleep(20)
  }
  child.kill('SIGKILL')
  throw new Error(`The server did not become ready at ${discovery}:\n${output().slice(-4_000)}`)
}

/**
 * The log is written beside all else, and may come after the first answers: with this line all is there that the start said. Where nobody
 * gets to read it, nothing is waited for in vain.
 */
async function untilSaid(output: () => string, { LOG_LEVEL }: Settings): Promise<void> {
  if (!['trace', 'debug', 'info'].includes(String(LOG_LEVEL))) return
  const deadline = Date.now() + 60_000
  while (!output().includes('"msg":"ready"') && Date.now() < deadline) await sleep(5)
}

/** Asked of the socket alone: most of a start nobody is there, and a `fetch` that finds nobody costs as much as an answer. */
async function isListening(url: string): Promise<boolean> {
  const { protocol, hostname, port } = new URL(url)
  const standard = protocol === 'https:' ? 443 : 80
  const socket = connect(Number(port) || standard, hostname.replaceAll(/[[\]]/g, ''))
  try {
    await once(socket, 'connect')
    return true
  } catch {
    return false
  } finally {
    socket.destroy()
  }
}

async function isAnswered(url: string): Promise<boolean> {
  const response = await fetch(url).catch(() => undefined)
  await response?.body?.cancel()
  return response?.status === 200
}
