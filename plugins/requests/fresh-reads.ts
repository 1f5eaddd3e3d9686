/** Reads of what must be as it is now, however many ask at once: of each name one is under way at a time, and whoever asks meanwhile shares the next. */
import { setTimeout as sleep } from 'node:timers/promises'

/** Milliseconds from the beginning of one to that of the next. */
const PAUSE = 100

interface UnderWay {
  /** Settles when the next may begin. */
  readonly over: Promise<unknown>
  next?: Promise<string>
}

/** What `read` says of a name, by a read that begins no earlier than it is asked for. */
export function createFreshReads(read: (name: string) => Promise<string>): (name: string) => Promise<string> {
  const underWay = new Map<string, UnderWay>()

  async function begin(name: string): Promise<string> {
    const answer = read(name)
    const one: UnderWay = { over: Promise.allSettled([answer, sleep(PAUSE, undefined, { ref: false })]) }
    underWay.set(name, one)
    void one.over.then(() => {
      if (one.next === undefined) underWay.delete(name)
    })
    return answer
  }

  return async (name) => {
    const one = underWay.get(name)
    return one === undefined ? begin(name) : (one.next ??= one.over.then(async () => begin(name)))
  }
}
