/** The app of tests/strangers/backchannel-logout, in a process of its own: what it was told by logout tokens that it verified. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { atEndOfFile } from './cleanup.ts'

export interface Told {
  sub?: string
  sid?: string
  jti?: string
  again?: boolean
  refused?: string
}

export interface LogoutApp {
  /** What it was told and verified, and refused; once, however often it was told. */
  told: Told[]
  /** What it was told once more: where it answered later than the server waits, as on a busy machine. */
  repeated: Told[]
  stop(): Promise<void>
}

interface Where {
  issuer: string
  clientId: string
  port: number
  /** Where `app.ts` is; by default in the checkout. */
  folder?: string
  /** `hang`: it verifies, and never answers. */
  how?: string
}

export async function startLogoutApp({
  issuer,
  clientId,
  port,
  folder = join(import.meta.dirname, '../strangers/backchannel-logout'),
  how = '',
}: Where): Promise<LogoutApp> {
  const args = [join(folder, 'app.ts'), issuer, clientId, String(port), how]
  const child: ChildProcess = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] })
  const stop = atEndOfFile(async () => {
    if (child.exitCode === null && child.signalCode === null) {
      child.kill('SIGKILL')
      await once(child, 'exit')
    }
  })
  const [told, repeated]: [Told[], Told[]] = [[], []]
  const lines = createInterface({ input: child.stdout! })
  const failed = once(lines, 'close').then(() => Promise.reject(new Error('The app has ended.')))
  await Promise.race([once(lines, 'line'), failed])
  failed.catch(() => {})
  lines.on('line', (line) => {
    const one = JSON.parse(line) as Told
    ;(one.again === true ? repeated : told).push(one)
  })
  return { told, repeated, stop }
}
