// Owns what `npm run bench` can be told on the command line, and its defaults.

import { parseArgs } from 'node:util'

export interface Options {
  rounds: number
  /** Seconds of one measured window. */
  seconds: number
  /** Seconds of load before each window, not counted. */
  warmUp: number
  connections: number
  /** How many different tokens the "every token new" introspection and userinfo go round. */
  freshTokens: number
  /** Only contestants whose name contains this. */
  only: string | undefined
  /** Only rows whose endpoint and label, in lower case, contain this. */
  rows: string
  /** A database of the cluster: Latchkey on a copy of it, beside Latchkey on an empty one, and nobody else. */
  template: string | undefined
  /** Measure nothing but token requests beside people who sign in. */
  logins: boolean
  /** Write docs/performance.md. */
  write: boolean
  /** A directory for V8 CPU profiles of the servers; profiled numbers are not written. */
  profile: string | undefined
}

export const usage = `npm run bench -- [options]
  --rounds N        measured rounds, every contestant once in each (5)
  --seconds N       length of a window (2)
  --warm-up N       load before each window, not counted (0.5)
  --connections N   keep-alive connections (32)
  --fresh-tokens N  distinct tokens for introspection and userinfo without cache hits (20000)
  --only TEXT       contestants whose name contains TEXT
  --rows TEXT       rows whose "endpoint, label" contains TEXT, or one of TEXT|TEXT
  --template NAME   Latchkey on a copy of the database NAME, beside it on an empty one
  --logins          only token requests while 20 people sign in, against without them
  --quick           2 rounds of 1 s, 12000 fresh tokens: a smoke test, not a result
  --profile DIR     write V8 CPU profiles of the servers to DIR
  --write           write docs/performance.md
  --help`

export function readOptions(argv: string[]): Options | undefined {
  const { values } = parseArgs({
    args: argv,
    options: {
      rounds: { type: 'string' },
      seconds: { type: 'string' },
      'warm-up': { type: 'string' },
      connections: { type: 'string' },
      'fresh-tokens': { type: 'string' },
      only: { type: 'string' },
      rows: { type: 'string', default: '' },
      template: { type: 'string' },
      profile: { type: 'string' },
      quick: { type: 'boolean', default: false },
      logins: { type: 'boolean', default: false },
      write: { type: 'boolean', default: false },
      help: { type: 'boolean', default: false },
    },
  })
  if (values.help) return undefined
  return {
    rounds: positive('rounds', values.rounds, values.quick ? 2 : 5),
    seconds: positive('seconds', values.seconds, values.quick ? 1 : 2),
    warmUp: positive('warm-up', values['warm-up'], 0.5),
    connections: positive('connections', values.connections, 32),
    freshTokens: positive('fresh-tokens', values['fresh-tokens'], values.quick ? 12_000 : 20_000),
    only: values.only,
    rows: values.rows.toLowerCase(),
    template: values.template,
    logins: values.logins,
    write: values.write,
    profile: values.profile,
  }
}

function positive(name: string, text: string | undefined, fallback: number): number {
  const value = text === undefined ? fallback : Number(text)
  if (!(value > 0 && Number.isFinite(value))) throw new Error(`--${name} must be a number above 0`)
  return value
}
