/**
 * Runs a command against the database of the server, under its settings and plugins: with no listener, no seeding,
 * and every log line on stderr, so that stdout holds the answer alone.
 */
import { userInfo } from 'node:os'
import type { Kernel } from '../services/kernel.ts'
import { parseConfig } from '../config.ts'
import { buildServer } from '../server.ts'
import { runAs } from '../services/audit/origin.ts'
import { assertTables } from './tables.ts'
import { kernelOf } from '../http/kernel-of.ts'

/**
 * `work` gets the doors and services; what it throws ends the command with status 1. Where tables are missing, it refuses,
 * unless it `migrates`.
 */
export async function withServer(
  work: (oauth: Kernel) => Promise<void>,
  { migrates = false } = {},
): Promise<void> {
  const settings = { LOG_LEVEL: 'warn', ...process.env }
  if (!migrates) await assertTables(parseConfig(settings))
  const server = await buildServer(settings, { start: false, logStream: process.stderr })
  try {
    await server.ready()
    await runAs({ kind: 'command', id: userInfo().username }, async () => work(kernelOf(server)))
  } finally {
    await server.close()
  }
}

/** A line for each member, for people. */
export function toLines(members: object): string[] {
  return Object.entries(members).map(([name, value]) => `${name}: ${toText(value)}`)
}

function toText(value: unknown): string {
  if (Array.isArray(value) && value.every((one) => typeof one === 'string')) return value.join(' ')
  return typeof value === 'string' ? value : JSON.stringify(value)
}

/** One JSON value on stdout, or lines for people. */
export function print(value: unknown, lines: readonly string[], json: boolean | undefined): void {
  process.stdout.write(json ? `${JSON.stringify(value)}\n` : `${lines.join('\n')}\n`)
}
