/**
 * The log of a command: what the server would log as JSON, in sentences on stderr, for whoever sits at the terminal, where
 * they stand beside the answer.
 */
import type { LogStream } from '../services/log.ts'
import { quote } from './quote.ts'

/** What each line has. All others are what it is about. */
interface Line {
  readonly level: string
  readonly time: string
  readonly msg?: string
  readonly err?: { readonly message: string }
  readonly [detail: string]: unknown
}

/** Lines of `loggingOptions`. */
export const plainLog: LogStream = {
  write(line) {
    const { level, time: _time, msg = level, err, ...details } = JSON.parse(line) as Line
    const all = err === undefined ? details : { ...details, error: err.message }
    const about = Object.entries(all).map(([name, value]) => `${name} ${toWords(value)}`)
    const sentence = msg.charAt(0).toUpperCase() + msg.slice(1).replace(/\.$/, '')
    process.stderr.write(`${sentence}${about.length > 0 ? ` (${about.join(', ')})` : ''}.\n`)
  },
}

function toWords(value: unknown): string {
  if (Array.isArray(value)) return value.map(toWords).join(' ')
  return typeof value === 'string' ? quote(value) : JSON.stringify(value)
}
