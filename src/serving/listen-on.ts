/** Listeners beside the server's own, each on a port that a setting names. */
import { once } from 'node:events'
import type { Server } from 'node:net'
import { ConfigError } from '../config.ts'

/** Throws `ConfigError` that names the setting and says why it cannot. */
export async function listenOn(
  server: Server,
  setting: string,
  port: number,
  host: string | undefined,
): Promise<void> {
  try {
    await once(server.listen(port, host), 'listening')
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException
    const why = code === 'EADDRINUSE' ? 'is in use' : `cannot be listened on (${code})`
    throw new ConfigError(`${setting} ${port} on ${host} ${why}.`, { cause })
  }
}
