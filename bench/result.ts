// Owns the arithmetic: windows of a row become medians, and medians of ratios taken round by round, so that a
// machine whose speed drifts during the run moves both sides of a ratio together.

import type { Row } from './contestant.ts'
import type { Measured } from './load-protocol.ts'

/** A row with its window of each round; a window with an error in it is `undefined`. */
export interface Series {
  row: Row
  windows: (Measured | undefined)[]
  firstError: string | undefined
}

export interface Result {
  row: Row
  windows: readonly (Measured | undefined)[]
  rate: number
  slowest: number
  fastest: number
  /** CPU microseconds for each request. */
  serverCpu: number
  /** Of the first of its processes. */
  firstCpu: number
  postgresCpu: number | undefined
  loadCpu: number
  /** Share of a core, 0 to 1. */
  serverLoad: number
  loadLoad: number
  strangers: number
  memory: number
  kept: number
  thrownOut: number
  firstError: string | undefined
  ofCeiling: Ratio
  ofPeer: Ratio
}

/** How a row compares with its baseline; undefined where there was nothing to compare with. */
export interface Ratio {
  /** Requests per second of this row for each one of the baseline. */
  rate: number | undefined
  /** CPU of the baseline, server and PostgreSQL, for each microsecond of this row: above 1 this row is cheaper. */
  cpu: number | undefined
}

export function summarize(all: Series[]): Result[] {
  return all.map((series) => {
    const windows = series.windows.filter((window) => window !== undefined)
    const rates = windows.map(rateOf)
    return {
      row: series.row,
      windows: series.windows,
      rate: median(rates),
      slowest: Math.min(...rates),
      fastest: Math.max(...rates),
      serverCpu: median(windows.map((window) => window.serverCpu / window.requests)),
      firstCpu: median(windows.map((window) => window.firstCpu / window.requests)),
      postgresCpu: windows.some((window) => window.postgresCpu === undefined)
        ? undefined
        : median(windows.map((window) => (window.postgresCpu ?? 0) / window.requests)),
      loadCpu: median(windows.map((window) => window.loadCpu / window.requests)),
      serverLoad: median(windows.map((window) => window.serverCpu / window.elapsed)),
      loadLoad: median(windows.map((window) => window.loadCpu / window.elapsed)),
      strangers: median(windows.map(strangersOf)),
      memory: median(windows.map((window) => window.serverMemory)),
      kept: windows.length,
      thrownOut: series.windows.length - windows.length,
      firstError: series.firstError,
      ofCeiling: compare(series, baselineFor(series.row, 'ceiling', all)),
      ofPeer: compare(series, baselineFor(series.row, 'peer', all)),
    }
  })
}

/** The baseline of the row's endpoint: the one with the most alike tokens: whose, ID token, access token. */
function baselineFor(row: Row, kind: Row['baseline'], all: Series[]): Series | undefined {
  const candidates = all.filter((one) => one.row.baseline === kind && one.row.endpoint === row.endpoint)
  const likeness = (one: Row) =>
    (one.holder === row.holder ? 4 : 0) +
    (one.algorithm === row.algorithm ? 2 : 0) +
    (one.format === row.format ? 1 : 0)
  return candidates.toSorted((a, b) => likeness(b.row) - likeness(a.row))[0]
}

/** Share of a core, of the two that are used, that processes outside the benchmark took during the window. */
export function strangersOf({ strangersCpu, elapsed }: Measured): number {
  return (strangersCpu ?? 0) / elapsed
}

export function rateOf(window: Measured): number {
  return (window.requests * 1_000_000) / window.elapsed
}

/** Microseconds a request, server and PostgreSQL. */
export function cpuEach(window: Measured): number {
  return (window.serverCpu + (window.postgresCpu ?? 0)) / window.requests
}

function compare(series: Series, baseline: Series | undefined): Ratio {
  const pairs = series.windows.flatMap((own, round) => {
    const base = baseline?.windows[round]
    return own && base ? [{ own, base }] : []
  })
  if (pairs.length === 0) return { rate: undefined, cpu: undefined }
  return {
    rate: median(pairs.map(({ own, base }) => rateOf(own) / rateOf(base))),
    cpu: median(pairs.map(({ own, base }) => cpuEach(base) / cpuEach(own))),
  }
}

/** CPU of a row for each microsecond of another's, round by round. */
export function cpuRatios(own: Result, base: Result): number[] {
  return own.windows.flatMap((window, round) => {
    const other = base.windows[round]
    return window && other ? [cpuEach(window) / cpuEach(other)] : []
  })
}

export function median(values: number[]): number {
  const sorted = values.toSorted((a, b) => a - b)
  const middle = Math.floor(sorted.length / 2)
  const upper = sorted[middle] ?? Number.NaN
  return sorted.length % 2 === 1 ? upper : ((sorted[middle - 1] ?? Number.NaN) + upper) / 2
}
