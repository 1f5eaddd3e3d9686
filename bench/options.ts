// Owns what `npm run bench` can be told on the command line, and its defaults.

import { resolve } from 'node:path'
import { parseArgs } from 'node:util'

/** What a run measures: one question, one part of docs/performance.md or docs/capacity.md. */
const modes = [
  'compare',
  'proofs',
  'logins',
  'workers',
  'logs',
  'costs',
  'janitor',
  'secrets',
  'audit',
  'guesses',
  'starts',
  'shards',
  'hour',
  'soak',
] as const
export type Mode = (typeof modes)[number]

export interface Options {
  mode: Mode
  rounds: number
  /** Seconds of one measured window. */
  seconds: number
  /** Seconds of load before each window, not counted. */
  warmUp: number
  /** How often a window is measured in which other work took the machine, until one is calm. */
  tries: number
  connections: number
  /** How many different tokens the "every token new" introspection and userinfo go round. */
  freshTokens: number
  /** Only contestants whose name contains one of these. */
  only: readonly string[]
  /** Only rows whose endpoint and label, in lower case, contain one of these. */
  rows: readonly string[]
  /** A database of the cluster: Latchkey on a copy of it, beside Latchkey on an empty one, and nobody else. */
  template: string | undefined
  /** Another checkout of Latchkey, beside this one, and nobody else. */
  beside: string | undefined
  /** How long the soak lasts. */
  minutes: number
  /** Write what was found into the docs. */
  write: boolean
  /** A directory for V8 CPU profiles of the servers; profiled numbers are not written. */
  profile: string | undefined
}

export const usage = `npm run bench -- [what] [options]
  What is measured, the first if nothing is said:
    every endpoint beside a bare Fastify and oidc-provider
  --quick           the same in a minute, before and after a change: Latchkey's JWT rows and one ceiling
  --beside DIR      this Latchkey beside that of another checkout, in turn; with --quick as few rows
  --template NAME   Latchkey on a copy of the database NAME, beside it on an empty one
  --proofs          private_key_jwt, DPoP, and sign-ins with PAR and DPoP, beside oidc-provider with the same
  --logins          token requests while 20 people sign in, at full and at half load
  --workers         1, 2 and 4 processes, and two servers: CPU per request at one rate
  --logs            what the log costs, level by level
  --costs           what one operation costs: CPU, WAL and rows; with --template NAME on a copy of that, too
  --janitor         token requests while the janitor removes what 500 sign-ins a second leave behind
  --secrets         200 requests at once whose chosen secret is not proven
  --audit           what it costs that the audit log names the Authorization of each token
  --guesses         a rush of wrong passwords from one address, and guesses at one account from many
  --starts          20 processes that started beside load: CPU of a request of each
  --shards          what an operation costs where tokens lie on two more PostgreSQL servers, beside one
  --hour            the journeys of an hour in five minutes, beside the same simulated (bench/model)
  --soak MINUTES    memory under a mixed load of half of what the server can do

  --rounds N        measured rounds, every contestant once in each (5)
  --seconds N       length of a window (2)
  --warm-up N       load before each window, not counted (0.5)
  --connections N   keep-alive connections (32)
  --fresh-tokens N  distinct tokens for introspection and userinfo without cache hits (20000)
  --only TEXT       contestants whose name contains TEXT, or one of TEXT|TEXT
  --rows TEXT       rows whose "endpoint, label" contains TEXT, or one of TEXT|TEXT
  --profile DIR     write V8 CPU profiles of the servers to DIR
  --write           write what was found into docs/performance.md and docs/capacity.md
  --help`

/** What a developer looks at before and after a change. */
const quick = {
  rounds: 3,
  seconds: 0.8,
  tries: 1,
  only: 'ceiling|latchkey',
  rows:
    'client_credentials, bare fastify: form|client_credentials, latchkey, jwt|authorization_code, latchkey, jwt, es|' +
    'refresh_token, latchkey, jwt, es|introspection, latchkey, jwt, 256|userinfo, latchkey, jwt, 256|discovery, latchkey',
}

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
      rows: { type: 'string' },
      template: { type: 'string' },
      beside: { type: 'string' },
      profile: { type: 'string' },
      soak: { type: 'string' },
      quick: { type: 'boolean', default: false },
      proofs: { type: 'boolean', default: false },
      logins: { type: 'boolean', default: false },
      workers: { type: 'boolean', default: false },
      logs: { type: 'boolean', default: false },
      costs: { type: 'boolean', default: false },
      janitor: { type: 'boolean', default: false },
      secrets: { type: 'boolean', default: false },
      audit: { type: 'boolean', default: false },
      guesses: { type: 'boolean', default: false },
      starts: { type: 'boolean', default: false },
      shards: { type: 'boolean', default: false },
      hour: { type: 'boolean', default: false },
      write: { type: 'boolean', default: false },
      help: { type: 'boolean', default: false },
    },
  })
  if (values.help) return undefined
  const [mode = 'compare', another] = modes.filter((one) => one !== 'compare' && values[one])
  if (another !== undefined) throw new Error(`--${mode} or --${another}: one at a time`)
  const whole = values.quick ? quick : { rounds: 5, seconds: 2, tries: 3, only: '', rows: '' }
  return {
    mode,
    rounds: positive('rounds', values.rounds, whole.rounds),
    seconds: positive('seconds', values.seconds, whole.seconds),
    warmUp: positive('warm-up', values['warm-up'], 0.5),
    tries: whole.tries,
    connections: positive('connections', values.connections, 32),
    freshTokens: positive('fresh-tokens', values['fresh-tokens'], 20_000),
    only: (values.only ?? whole.only).toLowerCase().split('|'),
    rows: (values.rows ?? whole.rows).toLowerCase().split('|'),
    template: values.template,
    beside: values.beside && resolve(values.beside),
    minutes: positive('soak', values.soak, 10),
    write: values.write && values.profile === undefined,
    profile: values.profile,
  }
}

function positive(name: string, text: string | undefined, fallback: number): number {
  const value = text === undefined ? fallback : Number(text)
  if (!(value > 0 && Number.isFinite(value))) throw new Error(`--${name} must be a number above 0`)
  return value
}
