// Owns a server under test as a process: started, on its core, and ready.

import type { ChildProcess } from 'node:child_process'
import { createServer, type AddressInfo } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { launchNode, serverCore, type Cores } from './pinning.ts'

export interface Server {
  child: ChildProcess
  pid: number
  port: number
}

export async function freePort(): Promise<number> {
  const probe = createServer().listen(0, '127.0.0.1')
  await new Promise((resolve) => probe.once('listening', resolve))
  const { port } = probe.address() as AddressInfo
  await new Promise((resolve) => probe.close(resolve))
  return port
}

export interface ServerOptions {
  args: string[]
  port: number
  env: Record<string, string>
  /** A path that answers 200 once the server is ready. */
  readyPath: string
  /** Whether what it has logged says that it is, too. */
  isReady?: (output: string) => boolean
  /** Where it runs, unless it is the core under test. */
  cores?: Cores
}

/** Starts a server and waits until it is ready. */
export async function startServer(options: ServerOptions): Promise<Server> {
  const { args, port, env, readyPath, isReady = () => true, cores = serverCore } = options
  const child = launchNode({ cores, args, env: { PORT: String(port), ...env } })
  let output = ''
  const keep = (chunk: Buffer) => (output = (output + chunk.toString()).slice(-4000))
  child.stdout?.on('data', keep)
  child.stderr?.on('data', keep)
  child.once('exit', (code, signal) => {
    if (code !== 0) console.error(`${args.join(' ')} ended with ${code ?? signal}:\n${output}`)
  })

  for (const deadline = Date.now() + 60_000; Date.now() < deadline; await sleep(100)) {
    if (child.exitCode !== null || child.pid === undefined) break
    if ((await answers(`http://127.0.0.1:${port}${readyPath}`)) && isReady(output))
      return { child, pid: child.pid, port }
  }
  throw new Error(`${args.join(' ')} did not become ready:\n${output}`)
}

async function answers(url: string): Promise<boolean> {
  try {
    const response = await fetch(url, { signal: AbortSignal.timeout(2_000) })
    await response.arrayBuffer()
    return response.status === 200
  } catch {
    return false
  }
}
