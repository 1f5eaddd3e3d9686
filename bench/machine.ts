// Owns what is said of where a run was: date, machine, versions, and how processes were placed.

import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { cpus, totalmem } from 'node:os'
import type { Stage } from './lane.ts'
import { canPin } from './pinning.ts'

export function machine({ cluster, options }: Stage): string {
  const packages = ['fastify', 'jose', 'oidc-provider', 'pg'].map((name) => `${name} ${versionOf(name)}`)
  const pinning = canPin
    ? `server on one core, load generator ${cluster.pinned ? 'and PostgreSQL' : '(not PostgreSQL)'} on another`
    : 'nothing is pinned: only one core, or no taskset'
  return [
    `${today()}, ${cpus().length} cores ${cpus()[0]?.model}, ${(totalmem() / 2 ** 30).toFixed(0)} GiB`,
    `Node ${process.versions.node}, PostgreSQL ${cluster.version}, ${packages.join(', ')}`,
    `${options.rounds} rounds of ${options.seconds} s windows, ${options.connections} connections; ${pinning}`,
  ]
    .map((line) => `- ${line}`)
    .join('\n')
}

/** The same in a line, for a part that stands below those of a whole run. */
export function provenance({ cluster, options }: Stage, how?: string): string {
  const windows = how ?? `${options.rounds} rounds of ${options.seconds} s`
  return `Measured on ${today()}: Node ${process.versions.node}, PostgreSQL ${cluster.version}, ${windows}.`
}

export function today(): string {
  return new Date().toISOString().slice(0, 10)
}

function versionOf(name: string): string {
  const require = createRequire(import.meta.url)
  const paths = require.resolve.paths(name)?.map((path) => `${path}/${name}/package.json`) ?? []
  for (const path of paths) {
    try {
      return (JSON.parse(readFileSync(path, 'utf8')) as { version: string }).version
    } catch {
      continue
    }
  }
  return 'unknown'
}
