/**
 * Runs a command against the database of the server, under its settings and plugins: with no listener, no seeding,
 * and the log in sentences on stderr, so that stdout holds the answer alone.
 */
import type { FastifyInstance } from 'fastify'
import { userInfo } from 'node:os'
import type { Kernel } from '../services/kernel.ts'
import { buildServer } from '../server.ts'
import { runAs } from '../services/audit/origin.ts'
import { begun } from './begun.ts'
import { plainLog } from './plain-log.ts'
import { readSettings } from '../settings/read-settings.ts'
import { portOfServer } from './served.ts'
import { assertTables } from './tables.ts'
import { kernelOf } from '../http/kernel-of.ts'

interface Needs {
  /** It makes the tables that are missing; else it refuses without them. */
  migrates?: boolean
  /** It registers something, and so may be the first to use an embedded database. */
  begins?: boolean
}

/** `work` gets the doors and services, and the server for what plugins decorate; what it throws ends the command with status 1. */
export async function withServer(
  work: (oauth: Kernel, server: FastifyInstance) => Promise<void>,
  { migrates = false, begins = false }: Needs = {},
): Promise<void> {
  const given = { LOG_LEVEL: 'warn', ...process.env }
  const config = readSettings(given)
  const settings = { ...given, ...(await portOfServer(config)) }
  if (!migrates) await assertTables(config, begins)
  const server = await buildServer(settings, { start: false, logStream: plainLog })
  try {
    await server.ready()
    await runAs({ kind: 'command', id: userInfo().username }, async () =>
      work(kernelOf(server), server).catch((error: unknown) => {
        if (error instanceof Error) begun.add(error)
        throw error
      }),
    )
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
