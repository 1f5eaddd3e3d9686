// Owns the soak: one server under everything at once, at half of what it can do, for as long as it is told, and what it
// holds in memory meanwhile.

import { writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { startLatchkey, toldOfClients } from './contestants/latchkey-server.ts'
import { journeysOf, type Journey } from './journeys.ts'
import type { Stage } from './lane.ts'
import { provenance } from './machine.ts'
import { grouped, table } from './markdown.ts'
import { watchMemory, type MemorySample } from './memory.ts'
import { closedPace, openPace, type Pace } from './pace.ts'
import type { Part } from './parts.ts'
import { otherCore, pinFamily } from './pinning.ts'
import { plot } from './plot.ts'
import { median } from './result.ts'
import { freePort } from './server-process.ts'

const atOnce = 32
/** Seconds of load before it is measured how much the server can do, and of that. */
const [warmUp, finding] = [10, 10]
/** Seconds between two samples. */
const every = 5

export interface Tally {
  done: Map<string, number>
  errors: string[]
}

export async function soak({ cluster, options, ...stage }: Stage): Promise<Part[]> {
  // This process plays everybody: it stays off the server's core.
  pinFamily(process.pid, otherCore)
  const metricsPort = await freePort()
  const ground = { nodeArgs: [], createDatabase: cluster.createDatabase }
  const server = await startLatchkey(ground, 'soak', {
    METRICS_PORT: String(metricsPort),
    ...toldOfClients,
  })
  const journeys = await journeysOf(server)

  await load(journeys, closedPace(), warmUp)
  const most = total(await load(journeys, closedPace(), finding)) / finding
  const rate = most / 2
  console.log(`${rate.toFixed(0)} of ${most.toFixed(0)} journeys a second for ${options.minutes} minutes`)
  const watch = watchMemory(server.pid, metricsPort, every)
  const tally = await load(journeys, openPace(rate, atOnce), options.minutes * 60)
  await watch.stop()

  if (options.write)
    writeFileSync(fileURLToPath(new URL('../docs/soak.svg', import.meta.url)), draw(watch.samples))
  const how = `${options.minutes} minutes of ${rate.toFixed(0)} journeys a second, half of the ${most.toFixed(0)} that it can do`
  const text = [
    provenance({ cluster, options, ...stage }, how),
    '![Resident memory, heap in use and external memory over the minutes](soak.svg)',
    memoryTable(watch.samples),
    `The event loop's delay: ${median(watch.samples.map(({ delay }) => delay)).toFixed(1)} ms at the 99th percentile.`,
    `${grouped(total(tally))} journeys: ${told(tally, journeys)}. **${tally.errors.length} errors**` +
      `${tally.errors.length > 0 ? `, the first: ${tally.errors[0]}` : ''}.`,
  ].join('\n\n')
  return [{ name: 'soak', text }]
}

/** Everybody goes on a journey when it is their turn, and on which one is drawn. */
export async function load(journeys: readonly Journey[], pace: Pace, seconds: number): Promise<Tally> {
  const tally: Tally = { done: new Map(), errors: [] }
  let over = false
  const { promise: home, resolve } = Promise.withResolvers<void>()
  let away = 0
  const travel = async () => {
    const { name, go } = drawn(journeys)
    away++
    try {
      await go()
      tally.done.set(name, (tally.done.get(name) ?? 0) + 1)
    } catch (error) {
      tally.errors.push(`${name}: ${(error as Error).message}`)
    }
    away--
    if (!over) pace.wait(() => void travel())
    else if (away === 0) resolve()
  }
  for (let one = 0; one < atOnce; one++) pace.wait(() => void travel())
  await pace.run(seconds)
  over = true
  if (away > 0) await home
  return tally
}

function drawn(journeys: readonly Journey[]): Journey {
  let left = Math.random() * journeys.reduce((sum, { share }) => sum + share, 0)
  return journeys.find(({ share }) => (left -= share) < 0) ?? journeys[0]!
}

export function total({ done }: Tally): number {
  return [...done.values()].reduce((sum, count) => sum + count, 0)
}

function told({ done }: Tally, journeys: readonly Journey[]): string {
  return journeys.map(({ name }) => `${grouped(done.get(name) ?? 0)} ${name}`).join(', ')
}

/** By fifths of the time and the median of each, since a password that is hashed takes 19 MiB while it is. */
function memoryTable(samples: readonly MemorySample[]): string {
  const fifth = (index: number) =>
    samples.slice(Math.floor((index * samples.length) / 5), Math.ceil(((index + 1) * samples.length) / 5))
  const row = (name: string, of: (sample: MemorySample) => number) => [
    name,
    ...[0, 2, 4].map((index) => median(fifth(index).map(of)).toFixed(0)),
    Math.max(...samples.map(of)).toFixed(0),
  ]
  return table(
    ['MiB', 'first fifth', 'third fifth', 'last fifth', 'at most'],
    [
      row('resident', ({ resident }) => resident),
      row('heap in use', ({ heap }) => heap),
      row('external', ({ external }) => external),
    ],
  )
}

function draw(samples: readonly MemorySample[]): string {
  const line = (name: string, of: (sample: MemorySample) => number) => ({
    name,
    points: samples.map((sample) => [sample.minute, of(sample)] as const),
  })
  return plot({
    title: 'Memory of one Latchkey process under a mixed load, half of what it can do',
    x: 'minutes',
    y: 'MiB',
    lines: [
      line('resident', ({ resident }) => resident),
      line('heap in use', ({ heap }) => heap),
      line('external', ({ external }) => external),
    ],
  })
}
