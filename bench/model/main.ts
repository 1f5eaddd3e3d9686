// Owns the parts of docs/capacity.md that the model writes: `node bench/model/main.ts`. Nothing is measured here but what
// bench/figures.json has.

import { readFigures, type Figures } from '../figures.ts'
import { grouped, table } from '../markdown.ts'
import { writeParts, type Part } from '../parts.ts'
import { assumed, sizes } from './sizes.ts'
import { assumed as world, simulateDay, simulateStampede, type Outcome } from './stampede.ts'

export function modelParts(figures: Figures): Part[] {
  const part = (name: string, text: string): Part => ({ page: 'capacity.md', name, text })
  return [
    part('assumed', assumed()),
    part('model', sizes(figures)),
    part('stampede', stampede(figures)),
    part('day', day(figures)),
  ]
}

function stampede(figures: Figures): string {
  const rows = [false, true].flatMap((backsOff) =>
    [false, true].map((sheds) => {
      const outcome = simulateStampede(figures, { backsOff, sheds })
      return [
        `${backsOff ? 'back off' : `ask again each ${world.retry} s`}, ${sheds ? 'refused above 1 s' : 'all wait in line'}`,
        ...cells(outcome),
      ]
    }),
  )
  return table(
    [
      'clients, server',
      'seconds until all who had waited have their answer',
      'median wait of newcomers, s',
      'requests for each answer',
      'work that nobody waited for',
      'longest line, s',
    ],
    rows,
  )
}

function cells({ recovered, wait, asked, wasted, line }: Outcome): string[] {
  return [
    recovered === null ? `not in ${world.after}` : grouped(recovered),
    wait === null ? 'no answer' : wait.toFixed(1),
    asked > 1000 ? 'over 1 000' : asked.toFixed(1),
    `${(wasted * 100).toFixed(0)} %`,
    line.toFixed(0),
  ]
}

function day(figures: Figures): string {
  const { answers, half, most, asked, busiest, quietest } = simulateDay(figures)
  return table(
    ['', 'simulated'],
    [
      ['refreshes of a day, by one server process', grouped(Number(answers.toPrecision(3)))],
      ['requests for each answer', asked.toFixed(3)],
      [`who came in the ${world.failover} s: half waited for less than`, `${half.toFixed(0)} s`],
      ['99 of 100 for less than', `${most.toFixed(0)} s`],
      [
        'of the server’s core: busiest hour, quietest',
        `${(busiest * 100).toFixed(0)} %, ${(quietest * 100).toFixed(0)} %`,
      ],
    ],
  )
}

if (import.meta.main) writeParts(modelParts(readFigures()))
