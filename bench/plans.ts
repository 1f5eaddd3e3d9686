// Owns how much the statements of a pool read: PostgreSQL itself tells, of each, by its own auto_explain. It needs a
// superuser, since nobody else may load that.

import { Pool, type Client, type PoolClient } from 'pg'

export interface Ran {
  text: string
  /** Rows of tables and entries of indexes that were looked at, those that a filter refused included. */
  read: number
  /** Pages of 8 KiB. */
  blocks: number
  milliseconds: number
  /** Such as `Index Scan on users`. */
  scans: string[]
}

interface Node {
  'Node Type': string
  'Relation Name'?: string
  'Index Name'?: string
  'Actual Rows'?: number
  'Actual Loops'?: number
  'Rows Removed by Filter'?: number
  'Rows Removed by Index Recheck'?: number
  'Shared Hit Blocks'?: number
  'Shared Read Blocks'?: number
  Plans?: Node[]
}

const SETTINGS = {
  session_preload_libraries: 'auto_explain',
  'auto_explain.log_min_duration': '0',
  'auto_explain.log_analyze': 'on',
  'auto_explain.log_buffers': 'on',
  'auto_explain.log_format': 'json',
  'auto_explain.log_level': 'notice',
}

/** A pool that tells `heard` of everything that runs on it. `settings` go to each of its connections. */
export function explainedPool(
  url: string,
  heard: (ran: Ran) => void,
  settings: Readonly<Record<string, string>> = {},
): Pool {
  const options = Object.entries({ ...SETTINGS, ...settings }).map(([name, value]) => `-c ${name}=${value}`)
  const pool = new Pool({ connectionString: url, options: options.join(' '), max: 5 })
  pool.on('connect', (client) => listen(client, heard))
  pool.on('error', () => {})
  return pool
}

function listen(client: Client | PoolClient, heard: (ran: Ran) => void): void {
  client.on('notice', ({ message = '' }) => {
    const [, milliseconds, json] = /^duration: ([\d.]+) ms {2}plan:\n([\s\S]*)$/.exec(message) ?? []
    if (json === undefined) return
    const { Plan, 'Query Text': text } = JSON.parse(json) as { Plan: Node; 'Query Text': string }
    heard({ text, milliseconds: Number(milliseconds), ...readBy(Plan) })
  })
}

function readBy(plan: Node): Pick<Ran, 'read' | 'blocks' | 'scans'> {
  const scans = scansOf(plan)
  return {
    read: scans.reduce((sum, node) => sum + rowsOf(node), 0),
    blocks: (plan['Shared Hit Blocks'] ?? 0) + (plan['Shared Read Blocks'] ?? 0),
    scans: scans.map((node) => `${node['Node Type']} on ${node['Relation Name'] ?? node['Index Name']}`),
  }
}

/** Of tables and indexes: what is scanned otherwise, such as a CTE, was read before. */
function scansOf(node: Node): Node[] {
  const below = (node.Plans ?? []).flatMap(scansOf)
  const isScan =
    node['Node Type'].endsWith('Scan') && (node['Relation Name'] ?? node['Index Name']) !== undefined
  return isScan ? [node, ...below] : below
}

function rowsOf(node: Node): number {
  const each =
    (node['Actual Rows'] ?? 0) +
    (node['Rows Removed by Filter'] ?? 0) +
    (node['Rows Removed by Index Recheck'] ?? 0)
  return each * (node['Actual Loops'] ?? 0)
}
