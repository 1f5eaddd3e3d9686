/**
 * Runs `examples/sample-web-app` beside a development start: a process of its own, as any user would run it. Where it
 * is not there, or does not start, the server does without it.
 */
import type { FastifyInstance } from 'fastify'
import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { DEMO, registerSample, SAMPLE_CREDENTIALS_FILE } from '../services/demo-content.ts'
import { kernelOf } from '../http/kernel-of.ts'
import { readDataFile } from '../services/database/data-dir.ts'

export interface SampleApp {
  /** Where it is, once it listens and the server knows that; undefined when it does not come up. */
  readonly origin: Promise<string | undefined>
  /** Ends it, and waits until it has ended. */
  stop(): Promise<void>
}

/** Of a checkout; an installed package comes without it. */
const PROGRAM = join(import.meta.dirname, '../../examples/sample-web-app/main.ts')
/** Milliseconds. */
const PATIENCE = 10_000

/** On the port after the server's, or the next free one. */
export async function startSampleApp(
  server: FastifyInstance,
  serverPort: number,
): Promise<SampleApp | undefined> {
  if (!server.hasPlugin(DEMO)) return undefined
  const { log, drain } = server
  const { config, issuer, clients } = kernelOf(server)
  const credentials = await readDataFile(config.DATA_DIR, SAMPLE_CREDENTIALS_FILE)
  if (credentials === undefined || !existsSync(PROGRAM)) return undefined
  const [id, secret] = credentials.split(':')
  const child = spawn(process.execPath, [PROGRAM], {
    // Nothing of our environment: it holds secrets that are not the app's.
    env: {
      OIDC_ISSUER: issuer,
      OIDC_CLIENT_ID: id,
      OIDC_CLIENT_SECRET: secret,
      PORT: String((serverPort % 65_535) + 1),
    },
    stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
  })
  let stopping = false
  child.once('exit', (status) => {
    // Ctrl-C reaches both of us, and it may be done first.
    if (!stopping && !drain.begun) log.warn({ status }, 'the sample web app has ended')
  })

  return {
    origin: announced(child)
      .then(async (origin) => {
        await registerSample(clients, origin)
        return origin
      })
      .catch(() => undefined),
    async stop() {
      stopping = true
      if (child.exitCode === null && child.signalCode === null && child.kill()) await once(child, 'exit')
    },
  }
}

/** What it says when it listens. Throws when it ends before, or takes too long. */
async function announced(child: ChildProcess): Promise<string> {
  const ended = new AbortController()
  child.once('exit', () => ended.abort()).once('error', () => ended.abort())
  const signal = AbortSignal.any([ended.signal, AbortSignal.timeout(PATIENCE)])
  const [{ origin }] = (await once(child, 'message', { signal })) as [{ origin: string }]
  return origin
}
