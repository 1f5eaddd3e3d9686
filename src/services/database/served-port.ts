/**
 * Where the server of a DATA_DIR listens, as a development start notes it there: one whose PORT is not set takes another where the default one is taken,
 * and commands, which are not told of that, name the same issuer.
 */
import { readDataFile, writeDataFile } from './data-dir.ts'

const FILE = 'port'

/** Whoever was there before is gone, or is found no more. */
export async function noteServedPort(dataDir: string, port: number): Promise<void> {
  await writeDataFile(dataDir, FILE, `${port} ${process.pid}`)
}

/** That of a process which is there still; undefined where none is noted. What answers there may be another server by now. */
export async function findServedPort(dataDir: string): Promise<number | undefined> {
  const noted = await readDataFile(dataDir, FILE).catch(() => undefined)
  const [, port, pid] = /^(\d{1,5}) (\d{1,10})$/.exec(noted ?? '') ?? []
  return port !== undefined && isAlive(Number(pid)) ? Number(port) : undefined
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch (error) {
    // Somebody else's is alive too.
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}
