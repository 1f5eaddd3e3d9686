/** How long something lives on that ends with something else. When a token ends is in `plugins/require-scope/expiry.ts`. */

/** How many seconds there are until `end`, in milliseconds since the epoch, and no more than `most`; none when it is past. */
export function secondsLeft(end: number | undefined, most: number, now = Date.now()): number {
  return end === undefined ? most : Math.max(0, Math.min(most, (end - now) / 1000))
}
