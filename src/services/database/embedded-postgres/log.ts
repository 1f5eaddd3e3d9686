/** The log that PostgreSQL writes beside its data; we only quote from it. */
import { constants } from 'node:fs'
import { open } from 'node:fs/promises'
import { join } from 'node:path'

export function logPath(cluster: string): string {
  return join(cluster, 'server.log')
}

/**
 * PostgreSQL's last FATAL or PANIC, for an error message; the file belongs to another user, so no link is
 * followed.
 */
export async function lastComplaint(cluster: string): Promise<string> {
  try {
    await using file = await open(logPath(cluster), constants.O_RDONLY | constants.O_NOFOLLOW)
    const lines = (await file.readFile('utf8')).split('\n')
    const complaint =
      lines.findLast((line) => /FATAL|PANIC/.test(line)) ?? lines.findLast((line) => line !== '')
    return complaint?.replace(/^.*?((?:FATAL|PANIC):)\s*/, '$1 ') ?? 'it wrote nothing'
  } catch {
    return 'it wrote no log'
  }
}
