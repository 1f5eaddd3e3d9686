// Owns the discrete-event simulation: a clock, and stations that work on one thing at a time for each of their cores, in the order
// in which it came. A cell is a server and its database.

export interface Clock {
  /** Seconds. */
  now: () => number
  after: (seconds: number, what: () => void) => void
  run: (until: number) => void
}

/** A binary heap of what comes next. */
export function createClock(): Clock {
  const heap: { time: number; order: number; what: () => void }[] = []
  let time = 0
  let order = 0
  const isBefore = (a: number, b: number): boolean => {
    const [one, other] = [heap[a]!, heap[b]!]
    return one.time < other.time || (one.time === other.time && one.order < other.order)
  }
  const swap = (a: number, b: number): void => {
    ;[heap[a], heap[b]] = [heap[b]!, heap[a]!]
  }

  function push(at: number, what: () => void): void {
    heap.push({ time: at, order: order++, what })
    for (let one = heap.length - 1; one > 0;) {
      const parent = (one - 1) >> 1
      if (!isBefore(one, parent)) return
      swap(one, parent)
      one = parent
    }
  }

  function pop(): (typeof heap)[number] {
    swap(0, heap.length - 1)
    const first = heap.pop()!
    for (let one = 0; ;) {
      const [left, right] = [2 * one + 1, 2 * one + 2]
      let least = one
      if (left < heap.length && isBefore(left, least)) least = left
      if (right < heap.length && isBefore(right, least)) least = right
      if (least === one) return first
      swap(one, least)
      one = least
    }
  }

  return {
    now: () => time,
    after: (seconds, what) => push(time + seconds, what),
    run(until) {
      while (heap.length > 0 && heap[0]!.time <= until) {
        const next = pop()
        time = next.time
        next.what()
      }
      time = until
    },
  }
}

export interface Station {
  /** Seconds of work; `done` when it is over. */
  enter: (work: number, done: () => void) => void
  /** Seconds that one who comes now waits. */
  wait: () => number
  /** Seconds that it has worked. */
  worked: () => number
  /** Nothing begins meanwhile. */
  stop: () => void
  resume: () => void
}

/** `wake`: seconds of work more for what finds it idle. */
export function createStation(clock: Clock, cores: number, wake = 0): Station {
  const line: { work: number; done: () => void }[] = []
  let head = 0
  let queued = 0
  let busy = 0
  let worked = 0
  let stopped = false

  function begin({ work, done }: { work: number; done: () => void }, woken: boolean): void {
    busy++
    const all = work + (woken ? wake : 0)
    worked += all
    clock.after(all, () => {
      busy--
      next()
      done()
    })
  }

  function next(): void {
    if (stopped) return
    while (busy < cores && head < line.length) {
      const one = line[head++]!
      queued -= one.work
      begin(one, false)
    }
    // What has been is let go of.
    if (head > 1024 && head * 2 > line.length) {
      line.splice(0, head)
      head = 0
    }
  }

  return {
    enter(work, done) {
      if (!stopped && busy < cores && head === line.length) return begin({ work, done }, busy === 0)
      line.push({ work, done })
      queued += work
    },
    wait: () => queued / cores,
    worked: () => worked,
    stop: () => (stopped = true),
    resume() {
      stopped = false
      next()
    },
  }
}

/** The same numbers each time, from 0 to 1 (mulberry32). */
export function createRandom(seed: number): () => number {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296
  }
}

/** At random, around a mean: as what is independent comes, and as work varies. */
export function exponential(random: () => number, mean: number): number {
  return -Math.log(1 - random()) * mean
}
