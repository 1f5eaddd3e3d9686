// Owns the arithmetic of 10 million, 100 million and a billion users: from measured costs (bench/figures.json) and from what is assumed
// of people and machines, each of which is named here and on the page.

import type { Figures } from '../figures.ts'
import { grouped, table } from '../markdown.ts'

/** What is assumed, with the words of the page. */
export const assumptions = {
  active: { value: 0.3, says: 'of all users come on a day' },
  signIns: { value: 1, says: 'sign-in with a password, on a day, of each who comes' },
  exchanges: { value: 2, says: 'apps that each goes to: a code and its exchange' },
  refreshes: { value: 8, says: 'refreshes of each: an hour’s tokens over a working day' },
  userinfos: { value: 2, says: 'userinfo requests of each' },
  peak: { value: 4, says: 'times the mean, in the busiest minute' },
  serverLoad: { value: 0.6, says: 'of a server’s core is used at the peak' },
  postgresLoad: { value: 0.5, says: 'of a core of PostgreSQL is used at the peak' },
  pool: { value: 10, says: 'connections of a process (DATABASE_POOL_SIZE), one process for each core' },
  room: { value: 2000, says: 'GB of tables that one PostgreSQL holds' },
  log: { value: 100, says: 'MB of WAL a second that one PostgreSQL writes and its standby takes' },
  cores: { value: 64, says: 'cores of a PostgreSQL server' },
  apis: { value: 20_000, says: 'users for each instance of an API that verifies JWTs by itself' },
  edges: {
    value: 300,
    says: 'places of the CDN in front of /jwks and discovery, each of which asks us by itself',
  },
  document: { value: 4000, says: 'bytes of one answer of either with its headers' },
} as const

/** Seconds that /jwks and discovery may be kept: what they say themselves. */
const KEPT = { jwks: 30, discovery: 60 }
/** Days that rows stay, by the settings' defaults. */
const DAYS = { authorizations: 32, sessions: 14 }
const DAY = 86_400

const value = (name: keyof typeof assumptions): number => assumptions[name].value

/** By operation, of one who comes on a day. */
const daily = {
  'sign-in': value('signIns'),
  'code, already signed in': value('exchanges') - value('signIns'),
  'code exchange': value('exchanges'),
  refresh: value('refreshes'),
  userinfo: value('userinfos'),
}
type Operation = keyof typeof daily
const operations = Object.keys(daily) as Operation[]

/** What names one Authorization, and so is passed on to the server that has it, where tokens lie on several. */
const passedOn: readonly Operation[] = ['code, already signed in', 'code exchange', 'refresh', 'userinfo']

export interface Size {
  readonly [name: string]: number
}

export function sizeOf(users: number, { costs, costsLarge, rows, shards }: Figures): Size {
  if (shards === undefined) throw new Error('what servers of tokens cost is not in figures.json')
  const active = users * value('active')
  const peak = (name: Operation): number => (active * daily[name] * value('peak')) / DAY
  const over = (of: (name: Operation) => number, names = operations): number =>
    names.reduce((sum, name) => sum + peak(name) * of(name), 0)
  const serverCores = over((name) => costs[name]!.server) / 1e6 / value('serverLoad')
  const postgresCores = over((name) => costs[name]!.postgres) / 1e6 / value('postgresLoad')
  const wal = over((name) => (costsLarge[name] ?? costs[name]!).wal) / 1e6
  const kept = active * value('exchanges') * DAYS.authorizations
  const tokens = (kept * (rows['authorizations']! + rows['refresh_tokens']!)) / 1e9
  const rest = (users * rows['users']! + active * value('signIns') * DAYS.sessions * rows['sessions']!) / 1e9
  const servers = Math.max(1, Math.ceil(tokens / value('room')), Math.ceil(wal / value('log')))
  const front =
    over((name) => shards.spread[name]!.postgres, [...passedOn]) / 1e6 / value('postgresLoad') +
    (peak('sign-in') * costs['sign-in']!.postgres) / 1e6 / value('postgresLoad')
  const behind = over((name) => shards.spread[name]!.shards, [...passedOn]) / 1e6 / value('postgresLoad')
  const apis = users / value('apis')
  const asked = apis / KEPT.jwks + apis / KEPT.discovery
  const reach = value('edges') / KEPT.jwks + value('edges') / KEPT.discovery
  const processes = Math.max(2, Math.ceil(serverCores))
  return {
    'sign-ins/s at the peak': peak('sign-in'),
    'code exchanges/s': peak('code exchange'),
    'refreshes/s': peak('refresh'),
    'userinfo/s': peak('userinfo'),
    'cores of servers': serverCores,
    'cores of one PostgreSQL that has all': postgresCores,
    'WAL MB/s at the peak': wal,
    'GB of tokens': tokens,
    'GB of users and sessions': rest,
    'connections of all processes': processes * value('pool'),
    'PostgreSQL servers for the tokens': servers,
    'cores of the one in front of them, where there are several': servers === 1 ? Number.NaN : front,
    'cores of each of them': servers === 1 ? Number.NaN : behind / servers,
    'issuers with a PostgreSQL of their own, instead of one in front': Math.max(
      1,
      Math.ceil(postgresCores / value('cores')),
      servers,
    ),
    'key and discovery requests/s of APIs': asked,
    'of these that reach us behind a CDN': Math.min(asked, reach),
    'MB/s of them that the CDN sends': (asked * value('document')) / 1e6,
  }
}

const columns = [
  ['10 million users', 1e7],
  ['100 million', 1e8],
  ['a billion', 1e9],
] as const

export function sizes(figures: Figures): string {
  const all = columns.map(([, users]) => sizeOf(users, figures))
  const rows = Object.keys(all[0]!).map((name) => [name, ...all.map((size) => few(size[name]!))])
  return table(['', ...columns.map(([name]) => name)], rows)
}

export function assumed(): string {
  const rows = Object.values(assumptions).map(({ value: one, says }) => [
    says,
    one < 1 ? String(one) : grouped(one),
  ])
  return table(['assumed', 'value'], rows)
}

function few(number: number): string {
  if (Number.isNaN(number)) return '–'
  return number < 10 ? String(Number(number.toPrecision(2))) : grouped(Number(number.toPrecision(2)))
}
