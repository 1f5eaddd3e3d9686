/** `serve`: listens, says where, and stops in order: in-flight requests finish, then the database closes. */
import type { FastifyInstance } from 'fastify'
import { once } from 'node:events'
import { createServer } from 'node:net'
import { welcome } from './welcome.ts'
import { parseConfig, type SettingValues } from '../config.ts'
import { buildServer } from '../server.ts'

const DEFAULT_PORT = 3000
/** Milliseconds that requests may take to finish after SIGTERM. */
const PATIENCE = 25_000

export async function serve(settings: SettingValues): Promise<void> {
  const port = await choosePort(settings)
  const server = await buildServer({ ...settings, PORT: port })
  stopOnSignal(server)
  try {
    await server.listen({ host: server.oauth.config.HOST, port })
  } catch (error) {
    await server.close()
    throw error
  }
  server.log.info({ issuer: server.oauth.issuer, port }, 'ready')
  if (!server.oauth.config.production) console.log(welcome(server))
}

/** The port that was set; else the default one, or the next that is free (which then is in the issuer, too). */
async function choosePort(settings: SettingValues): Promise<number> {
  const { HOST, PORT } = parseConfig(settings)
  if (PORT !== undefined) return PORT
  for (let port = DEFAULT_PORT; port < DEFAULT_PORT + 100; port++) if (await isFree(HOST, port)) return port
  return DEFAULT_PORT
}

async function isFree(host: string, port: number): Promise<boolean> {
  const probe = createServer().listen(port, host)
  try {
    await once(probe, 'listening')
    probe.close()
    await once(probe, 'close')
    return true
  } catch {
    return false
  }
}

function stopOnSignal(server: FastifyInstance): void {
  let stopping = false
  const stop = async (signal: NodeJS.Signals): Promise<void> => {
    if (stopping) return
    stopping = true
    server.log.info({ signal }, 'stopping')
    setTimeout(() => process.exit(1), PATIENCE).unref()
    await server.close()
    process.exit(0)
  }
  for (const signal of ['SIGTERM', 'SIGINT'] as const) process.on(signal, () => void stop(signal))
}
