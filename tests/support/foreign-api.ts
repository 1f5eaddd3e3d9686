/** APIs of strangers as processes of their own, which print their address when they listen. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { atEndOfFile } from './cleanup.ts'

/** Runs a program of a stranger's folder and returns the address that it prints. */
export async function startApi(
  folder: string,
  program: string,
  environment: Record<string, string>,
): Promise<string> {
  const { PATH } = process.env
  const child = spawn(process.execPath, [program], {
    cwd: folder,
    env: { PATH, ...environment },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const exit = once(child, 'exit')
  atEndOfFile(async () => {
    child.kill('SIGKILL')
    await exit
  })
  for await (const line of createInterface(child.stdout)) return line
  throw new Error(`${program} ended without a word.`)
}
