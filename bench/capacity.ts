// Owns the arithmetic of docs/capacity.md: from what the bench found (bench/figures.json) to machines. Run by itself it
// writes the page's parts anew: `node bench/capacity.ts`.

import { readFigures, type Costs, type Figures } from './figures.ts'
import { grouped, table } from './markdown.ts'
import { writeParts, type Part } from './parts.ts'

/** What is assumed of people; everything else is measured. */
const assumed = {
  /** Of all users, on a day. */
  active: 0.3,
  /** Each of those, on a day. */
  signIns: 1,
  exchanges: 2,
  refreshes: 8,
  userinfos: 2,
  introspections: 50,
  /** The busiest minute, of the mean. */
  peak: 4,
  /** Of a core, at the peak. */
  serverLoad: 0.6,
  postgresLoad: 0.5,
}

/** Days that rows stay, by the settings' defaults. */
const kept = { authorizations: 32, sessions: 14, audit: 365 }
const DAY = 86_400

/** Of one active user on a day. */
const daily: Record<string, number> = {
  'sign-in': assumed.signIns,
  'code, already signed in': Math.max(0, assumed.exchanges - assumed.signIns),
  'code exchange': assumed.exchanges,
  refresh: assumed.refreshes,
  userinfo: assumed.userinfos,
  introspection: assumed.introspections,
}

export function writeCapacity(): void {
  const figures = readFigures()
  const part = (name: string, text: string): Part => ({ page: 'capacity.md', name, text })
  writeParts([part('cores', cores(figures)), part('limit', limit(figures)), part('sizes', sizes(figures))])
}

function cores({ requests }: Figures): string {
  const rows = Object.entries(requests).map(([endpoint, { server, postgres }]) => [
    endpoint,
    ...[server, postgres, 1_000_000 / server].map(grouped),
    postgres < 5 ? 'any number' : grouped(1_000_000 / postgres),
  ])
  return table(
    ['request', 'CPU µs: server', 'PostgreSQL', 'requests/s: a core of the server', 'a core of PostgreSQL'],
    rows,
  )
}

/** How many a second keep a core of PostgreSQL as busy as it should be, and what that makes of the others. */
function limit({ costs, costsLarge }: Figures): string {
  const rows = ['sign-in', 'code exchange', 'refresh'].map((name) => {
    const { server, postgres, wal } = costs[name]!
    const rate = (assumed.postgresLoad * 1_000_000) / postgres
    const full = costsLarge[name]?.wal
    return [
      name,
      grouped(rate),
      ((rate * server) / 1_000_000 / assumed.serverLoad).toFixed(1),
      megabytes(rate * wal),
      full === undefined ? 'not measured' : megabytes(rate * full),
    ]
  })
  return table(
    [
      'operation',
      'a second, for each core of PostgreSQL',
      'cores of servers beside it',
      'WAL MB/s',
      'on a large database',
    ],
    rows,
  )
}

function sizes(figures: Figures): string {
  const columns = [1e6, 1e9].map((users) => sizeFor(users, figures))
  const names = Object.keys(columns[0]!)
  return table(
    ['', '1 million users', '1 billion users'],
    names.map((name) => [name, ...columns.map((one) => one[name]!)]),
  )
}

function sizeFor(users: number, { costs, costsLarge, rows }: Figures): Record<string, string> {
  const active = users * assumed.active
  const atPeak = (name: string): number => (active * daily[name]! * assumed.peak) / DAY
  const over = (what: keyof Costs, from = costs): number =>
    Object.keys(daily).reduce((sum, name) => sum + atPeak(name) * (from[name] ?? costs[name])![what], 0)
  const issued = assumed.exchanges + assumed.refreshes
  const bytes = {
    users: users * rows['users']!,
    authorizations: active * assumed.exchanges * kept.authorizations * rows['authorizations']!,
    'refresh tokens': active * assumed.exchanges * kept.authorizations * rows['refresh_tokens']!,
    sessions: active * assumed.signIns * kept.sessions * rows['sessions']!,
    'audit log': active * (assumed.signIns + issued) * kept.audit * rows['audit_events']!,
  }
  const data = Object.entries(bytes).map(([name, size]) => [`${name}, GB`, gigabytes(size)])
  return {
    'sign-ins/s, at the peak': few(atPeak('sign-in')),
    'code exchanges/s': few(atPeak('code exchange')),
    'refreshes/s': few(atPeak('refresh')),
    'userinfo and introspection/s': few(atPeak('userinfo') + atPeak('introspection')),
    'cores of servers': few(over('server') / 1_000_000 / assumed.serverLoad),
    'of these for hashing passwords': few(
      (atPeak('sign-in') * hashing(costs)) / 1_000_000 / assumed.serverLoad,
    ),
    'cores of PostgreSQL': few(over('postgres') / 1_000_000 / assumed.postgresLoad),
    'WAL MB/s, at the peak': megabytes(over('wal', costsLarge)),
    'transactions/s, at the peak': few(over('transactions')),
    ...Object.fromEntries(data),
  }
}

/** What a sign-in costs beyond its pages, of which one more code without it is the measure. */
function hashing(costs: Figures['costs']): number {
  return costs['sign-in']!.server - 2 * costs['code, already signed in']!.server
}

function few(value: number): string {
  return value < 10 ? String(Number(value.toPrecision(2))) : grouped(Number(value.toPrecision(2)))
}

function megabytes(value: number): string {
  return few(value / 1e6)
}

function gigabytes(value: number): string {
  return few(value / 1e9)
}

if (import.meta.main) writeCapacity()
