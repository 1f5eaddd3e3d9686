// Owns how results are shown: the markdown tables, what they were measured on, and how to read them.

import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { cpus, totalmem } from 'node:os'
import type { Cluster } from './cluster.ts'
import type { Endpoint } from './contestant.ts'
import type { Options } from './options.ts'
import { canPin } from './pinning.ts'
import type { Result } from './result.ts'
import type { SignInFigures } from './sign-ins.ts'

const headings: Record<Endpoint, string> = {
  client_credentials: 'Token endpoint, client_credentials',
  authorization_code: 'Token endpoint, authorization_code: access token, ID token, refresh token',
  refresh_token: 'Token endpoint, refresh_token, rotating: access token, ID token, refresh token',
  introspection: 'Introspection of a client_credentials token',
  userinfo: 'Userinfo',
  discovery: 'Discovery',
  jwks: 'Keys (JWKS)',
}

const columns = [
  'server',
  'requests/s (range)',
  'CPU µs/request: server',
  'PostgreSQL',
  'of ceiling: requests/s',
  'CPU',
  'times oidc-provider: requests/s',
  'CPU',
  'RSS MiB',
  'windows',
]

export function tables(results: Result[]): string {
  return Object.entries(headings)
    .map(([endpoint, heading]) => ({ heading, rows: results.filter(({ row }) => row.endpoint === endpoint) }))
    .filter(({ rows }) => rows.length > 0)
    .map(({ heading, rows }) => `## ${heading}\n\n${table(rows)}`)
    .join('\n\n')
}

function table(rows: Result[]): string {
  const lines = [columns, columns.map((_, index) => (index === 0 ? '---' : '--:')), ...rows.map(cells)]
  return lines.map((line) => `| ${line.join(' | ')} |`).join('\n')
}

function cells(result: Result): string[] {
  const { rate, slowest, fastest, kept, thrownOut } = result
  return [
    result.row.label,
    `${whole(rate)} (${whole(slowest)}–${whole(fastest)})`,
    whole(result.serverCpu),
    result.postgresCpu === undefined ? 'not seen' : whole(result.postgresCpu),
    factor(result.ofCeiling.rate),
    factor(result.ofCeiling.cpu),
    factor(result.ofPeer.rate),
    factor(result.ofPeer.cpu),
    whole(result.memory),
    thrownOut === 0 ? String(kept) : `${kept}, ${thrownOut} thrown out`,
  ]
}

function whole(value: number): string {
  return Number.isFinite(value) ? value.toFixed(0) : '–'
}

function factor(value: number | undefined): string {
  return value === undefined ? '' : value.toFixed(2)
}

/** Token requests without and with people who sign in. */
export function signInTable(figures: SignInFigures | undefined): string {
  if (!figures) return ''
  const { atOnce, without, beside, ratio } = figures
  const line = (...all: string[]) => `| ${all.join(' | ')} |`
  const times = (value: number) => `${value.toFixed(1)} ms`
  return [
    `## Token requests while ${atOnce} people sign in`,
    '',
    line('Latchkey, client_credentials, JWT', 'requests/s', 'median time', '99th percentile', 'sign-ins/s'),
    line('---', '--:', '--:', '--:', '--:'),
    line('nobody signs in', whole(without.rate), times(without.p50), times(without.p99), ''),
    line(
      `${atOnce} sign in at once, again and again`,
      whole(beside.rate),
      times(beside.p50),
      times(beside.p99),
      beside.signInsPerSecond.toFixed(1),
    ),
    line('ratio', factor(ratio.rate), factor(ratio.p50), factor(ratio.p99), ''),
  ].join('\n')
}

/** What to know before believing a table: errors, and whether the generator or an idle server was the limit. */
export function remarks(results: Result[]): string {
  if (results.length === 0) return ''
  const busiest = Math.max(...results.map(({ loadLoad }) => loadLoad))
  const lines = [
    `Load generator: ${whole(busiest * 100)} % of its core at most, ` +
      `${whole(Math.max(...results.map(({ loadCpu }) => loadCpu)))} µs a request at most.`,
    'Rows not named here: server at 95 % of its core or more, and other processes took 5 % of a core at most.',
    ...results
      .filter(({ serverLoad, strangers }) => serverLoad < 0.95 || strangers > 0.05)
      .map(
        ({ row, serverLoad, strangers }) =>
          `${row.endpoint}, ${row.label}: server at ${whole(serverLoad * 100)} % of its core, ` +
          `other processes took ${whole(strangers * 100)} % of a core.`,
      ),
    ...(results.some(({ strangers }) => strangers > 0.1)
      ? ['**The machine was busy with other work**: trust the CPU columns more than requests per second.']
      : []),
    ...results
      .filter(({ firstError }) => firstError !== undefined)
      .map(({ row, firstError }) => `**Error** in ${row.endpoint}, ${row.label}: ${firstError}`),
  ]
  return lines.map((line) => `- ${line}`).join('\n')
}

export function machine(cluster: Cluster, options: Options): string {
  const require = createRequire(import.meta.url)
  const version = (name: string) => {
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
  const packages = ['fastify', 'jose', 'oidc-provider', 'pg'].map((name) => `${name} ${version(name)}`)
  const pinning = canPin
    ? `server on one core, load generator ${cluster.pinned ? 'and PostgreSQL' : '(not PostgreSQL)'} on another`
    : 'nothing is pinned: only one core, or no taskset'
  return [
    `${new Date().toISOString().slice(0, 10)}, ${cpus().length} cores ${cpus()[0]?.model}, ` +
      `${(totalmem() / 2 ** 30).toFixed(0)} GiB`,
    `Node ${process.versions.node}, PostgreSQL ${cluster.version}, ${packages.join(', ')}`,
    `${options.rounds} rounds of ${options.seconds} s windows, ${options.connections} connections; ${pinning}`,
  ]
    .map((line) => `- ${line}`)
    .join('\n')
}

export function page(
  results: Result[],
  signIns: SignInFigures | undefined,
  cluster: Cluster,
  options: Options,
): string {
  return `# Performance

Written by \`npm run bench -- --write\`; run it to get your machine's numbers.

${machine(cluster, options)}

${tables(results)}

${signInTable(signIns)}

## How to read it

- One process of each server, held on one core, under ${options.connections} keep-alive connections. Every
  response is checked (status 200 and its members: the tokens, \`"active": true\`, the user's \`sub\`); a window with
  a single error in it is thrown out, and the last column says so.
- The windows of all servers alternate within a round; numbers are medians over the rounds, and ratios are
  medians of the ratios within each round. The other servers are stopped meanwhile. Absolute numbers belong to
  the machine; the ratios travel better.
- A window in which other work took more than a tenth of a core is measured again, twice at most; the remarks
  below say what was left of it.
- "CPU µs/request" is what the kernel charged to the server's process with all its threads, and to PostgreSQL's
  postmaster with all its processes. The ratios called "CPU" compare the sums of both: 2.00 is half the CPU.
  On a busy machine they are the ones to trust.
- The ceiling is no server: it authenticates nobody, stores and logs nothing. It shows what Fastify and jose
  alone cost; "signed by node:crypto" is the same with the synchronous signature that Latchkey uses by default.
  A row may pass 1.00 where a server signs that way, or remembers signatures that it has verified.
- The ceiling of a user's tokens adds the one statement that cannot be done without: spend a code or a refresh
  token and store the next one, find the user. No secret, no PKCE, no consent, no expiry is looked at.
- Codes: one user has signed in and allowed the client; before each window as many codes as it can use are taken from
  /authorize, outside the measurement. Each carries an S256 challenge and is exchanged once. Refresh: each connection
  sends the refresh token of its last answer; rotation is on everywhere. Scope \`openid profile email read_books\`.
- ID tokens are ES256, as access tokens are, except in the rows that say RS256: that is what a client gets at
  Latchkey that registers nothing. A signature by RSA costs many times as much; compare like with like. Latchkey's
  ID tokens carry the user's claims, its default; the peer's do not, its default.
- "Tokens in turn": introspection and userinfo go round that many tokens (256 where nothing is said). 256 are all
  remembered by a server with a cache; the large number is more than Latchkey's cache holds, so each signature is
  verified each time.
- oidc-provider runs with a PostgreSQL adapter written for this (\`bench/servers/postgres-adapter.ts\`): prepared
  statements, one upsert for each token, clients and the user from memory, tokens not bound to a session (that would
  cost it another statement). Like is compared with like: JWT with JWT, opaque with opaque. Only its introspection and
  its userinfo are opaque in both cases, because they take no JWTs.
- "Sign in at once": so many browsers go from /authorize through the login page to a code, again and again, with the
  right passwords, while the same core answers token requests. Hashing passwords is meant to be slow; what
  counts is what it leaves to the others. Ratios are from windows in turn.
- Both servers use \`client_secret_post\` with secrets of 256 bits, no request log, and the same PostgreSQL
  with fsync and synchronous_commit on; each has a pool of 10 connections.

## Remarks of this run

${remarks(results)}
`
}
