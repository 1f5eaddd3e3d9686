/** For a form that is sent twice: what the first one makes is there in a moment, made by this process or another one. */
import { setTimeout as delay } from 'node:timers/promises'

/** Milliseconds between two looks. */
const BETWEEN = 50

/** What `look` finds, asked up to so many times; undefined where it found nothing. */
export async function lookAgain<Found>(
  looks: number,
  look: () => Promise<Found | undefined>,
): Promise<Found | undefined> {
  for (let looked = 1; ; looked++) {
    const found = await look()
    if (found !== undefined || looked === looks) return found
    await delay(BETWEEN)
  }
}
