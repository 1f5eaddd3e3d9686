/** docs/capacity.md says what the model says (`bench/model/main.ts`), from the costs that were measured last, and its simulation is one. */
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { readFigures } from '../../bench/figures.ts'
import { createClock, createStation } from '../../bench/model/cell.ts'
import { simulateHour } from '../../bench/model/hour.ts'
import { modelParts } from '../../bench/model/main.ts'
import { assumptions, sizeOf } from '../../bench/model/sizes.ts'
import { checkout } from './page.ts'

const page = await readFile(join(checkout, 'docs/capacity.md'), 'utf8')
const figures = readFigures()

/** Cells of a table, however it is laid out. */
function cellsOf(markdown: string): string[][] {
  const lines = markdown.split('\n').filter((line) => line.startsWith('|') && !/^[|\s:-]+$/.test(line))
  return lines.map((line) =>
    line
      .split('|')
      .slice(1, -1)
      .map((cell) => cell.trim()),
  )
}

test.each(modelParts(figures))('the part $name is what the model says', ({ name, text }) => {
  const [, part = ''] = page.split(`<!-- bench: ${name} -->`)
  const [shown = ''] = part.split(`<!-- /bench: ${name} -->`)
  expect(cellsOf(shown)).toEqual(cellsOf(text))
})

test('every assumption has its words on the page', () => {
  for (const { says } of Object.values(assumptions)) expect(page).toContain(says)
})

test('ten times the users are ten times the work', () => {
  const [small, large] = [sizeOf(1e7, figures), sizeOf(1e8, figures)]
  for (const name of ['refreshes/s', 'cores of servers', 'WAL MB/s at the peak', 'GB of tokens'])
    expect(large[name]! / small[name]!).toBeCloseTo(10, 6)
})

test('a station does one thing at a time for each core, in its order, and works no more than it is given', () => {
  const clock = createClock()
  const station = createStation(clock, 2, 0.5)
  const done: [string, number][] = []
  for (const [name, work] of [['a', 2], ['b', 1], ['c', 1], ['d', 4]] as const)
    station.enter(work, () => done.push([name, clock.now()]))
  expect(station.wait()).toBe(2.5)
  clock.run(100)
  // The first one woke it.
  expect(done).toEqual([['b', 1], ['c', 2], ['a', 2.5], ['d', 6]])
  expect(station.worked()).toBe(8.5)
}) // prettier-ignore

test('what is simulated of an hour is what comes in it, and its work', () => {
  const costs = { server: 0.001, database: 0.0004, serverWake: 0, databaseWake: 0 }
  const twelfths = simulateHour(costs, 100)
  const sum = (what: 'journeys' | 'server' | 'database'): number =>
    twelfths.reduce((all, one) => all + one[what], 0)
  // 25 s of each share of the peak.
  const expected = 100 * 25 * (0.3 + 0.4 + 0.55 + 0.7 + 0.9 + 1 + 1 + 0.9 + 0.75 + 0.6 + 0.45 + 0.35)
  expect(sum('journeys') / expected).toBeCloseTo(1, 1)
  expect(sum('server') / (expected * costs.server)).toBeCloseTo(1, 1)
  expect(sum('database') / (expected * costs.database)).toBeCloseTo(1, 1)
})
