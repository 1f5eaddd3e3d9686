// Owns bench/figures.json: what the last runs with `--write` found, for the arithmetic of docs/capacity.md.

import { readFileSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import type { Result } from './result.ts'

/** Of one operation; CPU in microseconds, `wal` in bytes, `pages` of 8 KiB among them. */
export interface Costs {
  server: number
  postgres: number
  transactions: number
  wal: number
  pages: number
  syncs: number
}

/** CPU microseconds of one operation, where tokens lie on several servers: of the one in front of them, and of them. */
export interface ShardCosts {
  server: number
  postgres: number
  shards: number
}

export interface Figures {
  /** CPU microseconds of a request under full load, by endpoint: JWTs, ES256. */
  requests: Record<string, Pick<Costs, 'server' | 'postgres'>>
  /** By operation, on a small database and on a large one. */
  costs: Record<string, Costs>
  costsLarge: Record<string, Costs>
  /** Bytes of a row with its share of the indexes, by table. */
  rows: Record<string, number>
  /** By operation, on one PostgreSQL and over several, in one run. */
  shards?: { plain: Record<string, ShardCosts>; spread: Record<string, ShardCosts> }
}

const file = fileURLToPath(new URL('figures.json', import.meta.url))

export function readFigures(): Figures {
  return JSON.parse(readFileSync(file, 'utf8')) as Figures
}

/** In the place of those before. */
export function keep(found: Partial<Figures>): void {
  const text = JSON.stringify({ ...readFigures(), ...found }, rounded, 2)
  writeFileSync(file, `${text}\n`)
}

function rounded(_: string, value: unknown): unknown {
  return typeof value === 'number' ? Number(value.toFixed(2)) : value
}

/** Latchkey's ordinary rows of a comparison. */
export function costsOf(results: readonly Result[]): Pick<Figures, 'requests'> {
  const ordinary = results.filter(
    ({ row: { label, format, algorithm = 'ES256' } }) =>
      /^Latchkey(?:, JWT)?(?:, ES256 ID token|, 256 tokens in turn)?$/.test(label) &&
      format === 'jwt' &&
      algorithm === 'ES256',
  )
  return {
    requests: Object.fromEntries(
      ordinary.map(({ row, serverCpu, postgresCpu = 0 }) => [
        row.endpoint,
        { server: serverCpu, postgres: postgresCpu },
      ]),
    ),
  }
}
