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
  rate: number
  slowest: number
  fastest: number
  /** CPU microseconds for each request. */
  serverCpu: number
  postgresCpu: number | undefined
  loadCpu: number
  /** Share of a core, 0 to 1. */
  serverLoad: number
  loadLoad: number
  memory: number
  kept: number
  thrownOut: number
  firstError: string | undefined
  /** Requests per second of this row for each one of the baseline. */
  ofCeiling: number | undefined
  ofPeer: number | undefined
  /** The same for CPU: the baseline's microseconds of server and PostgreSQL for each one of this row. */
  ofPeerCpu: number | undefined
}

export function summarize(all: Series[]): Result[] {
  return all.map((series) => {
    const windows = series.windows.filter((window) => window !== undefined)
    const rates = windows.map(rateOf)
    const ceiling = baselineFor(series.row, 'ceiling', all)
    const peer = baselineFor(series.row, 'peer', all)
    return {
      row: series.row,
      rate: median(rates),
      slowest: Math.min(...rates),
      fastest: Math.max(...rates),
      serverCpu: median(windows.map((window) => window.serverCpu / window.requests)),
      postgresCpu: windows.some((window) => window.postgresCpu === undefined)
        ? undefined
        : median(windows.map((window) => (window.postgresCpu ?? 0) / window.requests)),
      loadCpu: median(windows.map((window) => window.loadCpu / window.requests)),
      serverLoad: median(windows.map((window) => window.serverCpu / window.elapsed)),
      loadLoad: median(windows.map((window) => window.loadCpu / window.elapsed)),
      memory: median(windows.map((window) => window.serverMemory)),
      kept: windows.length,
      thrownOut: series.windows.length - windows.length,
      firstError: series.firstError,
      ofCeiling: ratio(series, ceiling, (own, base) => rateOf(own) / rateOf(base)),
      ofPeer: ratio(series, peer, (own, base) => rateOf(own) / rateOf(base)),
      ofPeerCpu: ratio(series, peer, (own, base) => cpuOf(base) / cpuOf(own)),
    }
  })
}

/** The baseline of the row's endpoint: the one with the same kind of token, else whichever there is. */
function baselineFor(row: Row, kind: Row['baseline'], all: Series[]): Series | undefined {
  const candidates = all.filter((one) => one.row.baseline === kind && one.row.endpoint === row.endpoint)
  return candidates.find((one) => one.row.format === row.format) ?? candidates[0]
}

function rateOf(window: Measured): number {
  return (window.requests * 1_000_000) / window.elapsed
}

function cpuOf(window: Measured): number {
  return (window.serverCpu + (window.postgresCpu ?? 0)) / window.requests
}

function ratio(
  series: Series,
  baseline: Series | undefined,
  compare: (own: Measured, base: Measured) => number,
): number | undefined {
  const ratios = series.windows.flatMap((own, round) => {
    const base = baseline?.windows[round]
    return own && base ? [compare(own, base)] : []
  })
  return ratios.length > 0 ? median(ratios) : undefined
}

function median(values: number[]): number {
  const sorted = values.toSorted((a, b) => a - b)
  const middle = Math.floor(sorted.length / 2)
  const upper = sorted[middle] ?? Number.NaN
  return sorted.length % 2 === 1 ? upper : ((sorted[middle - 1] ?? Number.NaN) + upper) / 2
}
