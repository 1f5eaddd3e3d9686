// Owns the simulations of what follows an outage: clients that come back at once or back off, a server that sheds or does not, and a
// day with a failover at its peak. From the measured CPU of a refresh (bench/figures.json); what is assumed is named here.

import type { Figures } from '../figures.ts'
import { createClock, createRandom, createStation, exponential, type Station } from './cell.ts'

export const assumed = {
  /** The cell: this share of one server process and one core of PostgreSQL. Fewer clients wait for as much longer work: a queue takes as long. */
  scale: 1 / 200,
  /** Of the server, at the peak. */
  load: 0.6,
  /** Seconds that PostgreSQL is away. */
  outage: 120,
  failover: 30,
  /** Seconds after which a client takes an answer for lost, and asks again. */
  patience: 10,
  /** Seconds between two tries of a client that does not back off. */
  retry: 1,
  /** Of one that does: the first pause and the longest, each with full jitter. */
  backoff: [1, 60],
  /** Seconds: who would wait longer is refused (docs/adr/0018). */
  shedAbove: 1,
  /** Seconds: beyond that line the system takes no connection, and who knocks hears nothing. */
  room: 60,
  /** Seconds that are simulated after the outage. */
  after: 420,
}

export interface Policy {
  readonly backsOff: boolean
  readonly sheds: boolean
}

export interface Outcome {
  /** Seconds after the outage until no client is left that has waited since it; null where some still are at the end. */
  readonly recovered: number | null
  /** Of a client that came in the minute after the outage, in seconds: half of them wait for less. */
  readonly wait: number | null
  /** Requests for each answer that a client could use. */
  readonly asked: number
  /** Of the server's work after the outage, for answers that nobody waited for any more. */
  readonly wasted: number
  /** Seconds, the longest line. */
  readonly line: number
}

interface World {
  readonly clock: ReturnType<typeof createClock>
  readonly random: () => number
  readonly server: Station
  readonly database: Station
  away: boolean
}

interface Costs {
  /** Seconds of CPU of one refresh, and of a refusal. */
  readonly server: number
  readonly database: number
  readonly refusal: number
}

function costsOf({ costs, requests }: Figures): Costs {
  const { server, postgres } = costs['refresh']!
  const slow = (micros: number): number => micros / 1_000_000 / assumed.scale
  return { server: slow(server), database: slow(postgres), refusal: slow(requests['discovery']!.server) }
}

function createWorld(seed: number): World {
  const clock = createClock()
  return {
    clock,
    random: createRandom(seed),
    server: createStation(clock, 1),
    database: createStation(clock, 1),
    away: false,
  }
}

interface Counts {
  asked: number
  answered: number
  wasted: number
  line: number
}

/** One client that wants one answer: asks until it has it. */
function ask(world: World, costs: Costs, policy: Policy, counts: Counts, done: () => void): void {
  const { clock, random, server, database } = world
  let tries = 0
  let isDone = false

  const again = (): void => {
    const [first, longest] = assumed.backoff as [number, number]
    const pause = policy.backsOff
      ? random() * Math.min(longest, first * 2 ** tries)
      : assumed.retry * (0.5 + random())
    tries++
    clock.after(pause, attempt)
  }

  function attempt(): void {
    counts.asked++
    let waits = true
    counts.line = Math.max(counts.line, server.wait())
    const over = (): void => {
      waits = false
    }
    const refuse = (): void =>
      server.enter(costs.refusal, () => {
        if (!waits) return
        over()
        again()
      })
    clock.after(assumed.patience, () => {
      if (!waits || isDone) return
      over()
      again()
    })
    if (server.wait() > assumed.room) return
    if (world.away || (policy.sheds && server.wait() > assumed.shedAbove)) return refuse()
    const work = exponential(random, costs.server)
    server.enter(work, () => {
      database.enter(exponential(random, costs.database), () => {
        if (!waits) {
          counts.wasted += work
          return
        }
        over()
        isDone = true
        counts.answered++
        done()
      })
    })
  }
  attempt()
}

/** Arrivals at `rate(now)` a second until `end`; each is told when it came and when it had its answer. */
function arrive(
  { clock, random }: World,
  rate: (now: number) => number,
  most: number,
  end: number,
  come: () => void,
): void {
  const next = (): void =>
    clock.after(exponential(random, 1 / most), () => {
      if (clock.now() >= end) return
      if (random() * most < rate(clock.now())) come()
      next()
    })
  next()
}

export function simulateStampede(figures: Figures, policy: Policy): Outcome {
  const costs = costsOf(figures)
  const world = createWorld(7)
  const { clock, server } = world
  const counts: Counts = { asked: 0, answered: 0, wasted: 0, line: 0 }
  const rate = assumed.load / costs.server
  const [begin, end] = [30, 30 + assumed.outage]
  const over = end + assumed.after
  let waiting = 0
  let recovered: number | null = null
  const waits: number[] = []
  let newcomers = 0

  arrive(
    world,
    () => rate,
    rate,
    over,
    () => {
      const came = clock.now()
      const old = came < end && came >= begin
      const isNew = came >= end && came < end + 60
      if (old) waiting++
      if (isNew) newcomers++
      ask(world, costs, policy, counts, () => {
        if (isNew) waits.push(clock.now() - came)
        if (old && --waiting === 0 && clock.now() > end) recovered ??= clock.now() - end
      })
    },
  )
  clock.run(begin)
  world.away = true
  clock.run(end)
  world.away = false
  const before = { asked: counts.asked, answered: counts.answered, worked: server.worked() }
  counts.line = 0
  counts.wasted = 0
  clock.run(over)
  const median =
    waits.length > newcomers / 2 ? waits.toSorted((a, b) => a - b)[Math.floor(newcomers / 2)]! : null
  return {
    recovered: waiting === 0 ? recovered : null,
    wait: median,
    asked: (counts.asked - before.asked) / Math.max(1, counts.answered - before.answered),
    wasted: counts.wasted / (server.worked() - before.worked),
    line: counts.line,
  }
}

export interface Day {
  readonly answers: number
  /** Who came while PostgreSQL was away: half and nearly all of them (99 of 100) waited less than so many seconds. */
  readonly half: number
  readonly most: number
  /** Requests for each answer. */
  readonly asked: number
  /** Of the server: in its busiest and its quietest hour. */
  readonly busiest: number
  readonly quietest: number
}

/** From midnight to midnight, the peak at noon, with a failover in it; clients back off and the server sheds. */
export function simulateDay(figures: Figures): Day {
  const costs = costsOf(figures)
  const world = createWorld(11)
  const { clock, server } = world
  const counts: Counts = { asked: 0, answered: 0, wasted: 0, line: 0 }
  const peak = assumed.load / costs.server
  const DAY = 86_400
  const noon = DAY / 2
  const rate = (now: number): number => peak * (0.1 + 0.9 * Math.exp(-(((now - noon) / (DAY / 8)) ** 2)))
  const hit: number[] = []
  const policy = { backsOff: true, sheds: true }
  arrive(world, rate, peak, DAY, () => {
    const came = clock.now()
    ask(world, costs, policy, counts, () => {
      if (came >= noon && came < noon + assumed.failover) hit.push(clock.now() - came)
    })
  })
  const hours: number[] = []
  for (let hour = 0; hour < 24; hour++) {
    const worked = server.worked()
    const until = (hour + 1) * 3600
    if (noon >= hour * 3600 && noon < until) {
      clock.run(noon)
      world.away = true
      clock.run(noon + assumed.failover)
      world.away = false
    }
    clock.run(until)
    hours.push((server.worked() - worked) / 3600)
  }
  clock.run(DAY + 600)
  hit.sort((a, b) => a - b)
  return {
    answers: Math.round(counts.answered / assumed.scale),
    half: hit[Math.floor(hit.length / 2)]!,
    most: hit[Math.floor(hit.length * 0.99)]!,
    asked: counts.asked / counts.answered,
    busiest: Math.max(...hours),
    quietest: Math.min(...hours),
  }
}
