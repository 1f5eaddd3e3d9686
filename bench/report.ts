// Owns how a comparison is shown: a table for each endpoint, and what to know before believing it.

import type { Endpoint } from './contestant.ts'
import { factor, table, whole } from './markdown.ts'
import type { Result } from './result.ts'

const headings: Record<Endpoint, string> = {
  client_credentials: 'Token endpoint, client_credentials',
  client_credentials_with_dpop: 'Token endpoint, client_credentials with DPoP: each request with a new proof',
  client_credentials_with_private_key_jwt:
    'Token endpoint, client_credentials by private_key_jwt: each request with a new assertion',
  authorization_code: 'Token endpoint, authorization_code: access token, ID token, refresh token',
  sign_in_with_par_and_dpop:
    'A sign-in: /par, /authorize by a browser that is signed in, /token with a new DPoP proof; each is one request',
  refresh_token: 'Token endpoint, refresh_token, rotating: access token, ID token, refresh token',
  introspection: "Introspection, of users' tokens unless the row says otherwise",
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
    .map(({ heading, rows }) => `### ${heading}\n\n${table(columns, rows.map(cells))}`)
    .join('\n\n')
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

/** What to know before believing a table: errors, and whether the generator or an idle server was the limit. */
export function remarks(results: Result[]): string {
  const kept = results.filter((result) => result.kept > 0)
  const busiest = Math.max(...kept.map(({ loadLoad }) => loadLoad))
  const percent = (share: number) => `${whole(share * 100)} %`
  const lines = [
    `Load generator: ${percent(busiest)} of its core at most, ` +
      `${whole(Math.max(...kept.map(({ loadCpu }) => loadCpu)))} µs a request at most.`,
    'Rows not named here: server at 95 % of its core or more, and other processes took 5 % of a core at most.',
    ...kept
      .filter(({ serverLoad, strangers }) => serverLoad < 0.95 || strangers > 0.05)
      .map(
        ({ row, serverLoad, strangers }) =>
          `${row.endpoint}, ${row.label}: server at ${percent(serverLoad)} of its core, ` +
          `other processes took ${percent(strangers)} of a core.`,
      ),
    ...(results.some(({ strangers }) => strangers > 0.1)
      ? ['**The machine was busy with other work**: trust the CPU columns more than requests per second.']
      : []),
    ...errorsIn(results),
  ]
  return lines.map((line) => `- ${line}`).join('\n')
}

/** Of every part of the page: a window with an error in it is thrown out, and told of. */
export function errorsIn(results: readonly Pick<Result, 'row' | 'firstError'>[]): string[] {
  return results
    .filter(({ firstError }) => firstError !== undefined)
    .map(({ row, firstError }) => `**Error** in ${row.endpoint}, ${row.label}: ${firstError}`)
}
