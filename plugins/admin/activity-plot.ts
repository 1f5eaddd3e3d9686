/** The last 24 hours as bars: what each hour had, by kind, and where its bar stands in a picture of 240 by 40. */
import { message } from '../../src/protocol/message.ts'
import type { PlotView } from './models.ts'

const HOUR = 3_600_000
const HOURS = 24
/** Of a bar and the gap beside it; a bar of one is visible however high the highest is. */
const [STEP, BAR, HEIGHT, LEAST] = [10, 8, 40, 1.5]

const BANDS = [
  {
    id: 'sign-ins',
    name: message('Sign-ins'),
    by: message('Sign-ins by the hour'),
    types: ['user.signed_in'],
  },
  {
    id: 'failures',
    name: message('Failures'),
    by: message('Failures by the hour'),
    types: ['user.sign_in_failed', 'user.factor_failed', 'client.authentication_failed'],
  },
  { id: 'tokens', name: message('Tokens'), by: message('Tokens by the hour'), types: ['token.issued'] },
] as const

/** Where the first of the hours begins, the last being the one that is not over yet. */
export function firstHour(now: number): number {
  return Math.floor(now / HOUR) * HOUR - (HOURS - 1) * HOUR
}

export function plotOf(
  activity: readonly { hour: number; type: string; count: number }[],
  now: number,
): PlotView {
  const first = firstHour(now)
  const hours = Array.from({ length: HOURS }, (_, at) => new Date(first + at * HOUR))
  const bands = BANDS.map(({ id, name, by, types }) => {
    const counts = hours.map(() => 0)
    for (const { hour, type, count } of activity) {
      const at = (hour - first) / HOUR
      if ((types as readonly string[]).includes(type) && at in counts) counts[at]! += count
    }
    return { id, name, counts, title: by, ...summary(counts, hours), bars: barsOf(counts) }
  })
  return { hours, bands }
}

function summary(counts: readonly number[], hours: readonly Date[]) {
  const most = Math.max(...counts)
  const busiest = hours[counts.indexOf(most)]!.toISOString().slice(11, 16)
  const total = counts.reduce((sum, one) => sum + one, 0)
  const description =
    total === 0
      ? message('None in the last 24 hours.')
      : message(
          '{total, number} in the last 24 hours; {most, number} in the hour from {busiest} UTC on, the busiest.',
          { total, most, busiest },
        )
  return { total, most, description }
}

function barsOf(counts: readonly number[]): PlotView['bands'][number]['bars'] {
  const most = Math.max(...counts, 1)
  return counts.flatMap((count, at) => {
    if (count === 0) return []
    const height = Math.max(LEAST, Math.round((count / most) * HEIGHT * 10) / 10)
    return [{ x: at * STEP + (STEP - BAR) / 2, y: HEIGHT - height, width: BAR, height }]
  })
}
