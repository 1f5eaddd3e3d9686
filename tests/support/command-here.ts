/** Commands inside the test's own process: as many as a test likes, at a tenth of a child's price. */
import { expect, vi } from 'vitest'
import { run } from '../../src/commands/program.ts'
import { temporaryDirectory } from './cleanup.ts'
import type { runCommand } from './process.ts'
import type { Settings } from './settings.ts'

/** What `runCommand` of `process.ts` returns; usage errors need a child, since they end their process. */
export async function runCommandHere(args: string[], settings: Settings): ReturnType<typeof runCommand> {
  const stdout: string[] = []
  const stderr: string[] = []
  const into = (lines: string[]) => (text: unknown) => lines.push(String(text)) > 0
  vi.spyOn(process.stdout, 'write').mockImplementation(into(stdout))
  vi.spyOn(process.stderr, 'write').mockImplementation(into(stderr))
  vi.spyOn(console, 'error').mockImplementation((text) => void stderr.push(`${text}\n`))
  const given: Settings = { DATA_DIR: await temporaryDirectory(), ...settings }
  for (const [name, value] of Object.entries(given))
    vi.stubEnv(name, value === undefined ? undefined : String(value))
  const former = process.exitCode
  process.exitCode = 0
  try {
    await run(['node', 'latchkey', ...args])
    return { status: process.exitCode, stdout: stdout.join(''), stderr: stderr.join('') }
  } finally {
    process.exitCode = former
    vi.unstubAllEnvs()
    vi.restoreAllMocks()
  }
}

/** The commands that begin with these words, such as `client`; each must succeed, and say nothing else. */
export function commandsHere(settings: Settings, ...words: string[]) {
  /** What it prints. */
  async function run(...args: string[]): Promise<string> {
    const { status, stdout, stderr } = await runCommandHere([...words, ...args], settings)
    expect({ status, stderr }).toEqual({ status: 0, stderr: '' })
    return stdout
  }

  /** Exactly one JSON value, on one line. */
  async function runJson(...args: string[]): Promise<Record<string, unknown>> {
    const printed = await run(...args, '--json')
    expect(printed.split('\n')).toHaveLength(2)
    return JSON.parse(printed) as Record<string, unknown>
  }

  return { run, runJson }
}
