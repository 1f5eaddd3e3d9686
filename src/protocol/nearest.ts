/** Which of the known names a misspelt one is meant to be. */

/** Of a name that is longer, no more is compared: nobody means a page of text. */
const LONGEST = 64

export interface Nearest {
  readonly nearest: string
  /** How many letters were left out, added, changed or swapped with their neighbour. */
  readonly distance: number
}

/** `known` has one at least. Where none is nearer than `limit`, which makes the search a short one, the distance is that. */
export function findNearest(name: string, known: readonly string[], limit = Infinity): Nearest {
  let found: Nearest = { nearest: known[0]!, distance: limit }
  for (const nearest of known) {
    const distance = distanceBetween(name, nearest, found.distance)
    if (distance < found.distance) found = { nearest, distance }
  }
  return found
}

/** Slips: whatever is not nearer than that is close to nothing. */
export const FAR = 3

/** How many slips a misspelt name has at most: of a short one, others' names are as near. */
export function closeTo(name: string): number {
  return name.length < 6 ? 1 : FAR - 1
}

/** Infinity as soon as it is known to be no less than `limit`: most names are nothing like each other. */
function distanceBetween(given: string, meant: string, limit: number): number {
  const a = given.slice(0, LONGEST)
  if (Math.abs(a.length - meant.length) >= limit) return Infinity
  let least = 0
  let former: number[] = []
  let above = Array.from({ length: meant.length + 1 }, (_, at) => at)
  for (let i = 1; i <= a.length; i++) {
    const row = [i]
    const leastAbove = least
    least = i
    for (let j = 1; j <= meant.length; j++) {
      const isSame = a[i - 1] === meant[j - 1]
      const isSwapped = i > 1 && j > 1 && a[i - 1] === meant[j - 2] && a[i - 2] === meant[j - 1]
      row[j] = Math.min(
        above[j]! + 1,
        row[j - 1]! + 1,
        above[j - 1]! + (isSame ? 0 : 1),
        isSwapped ? former[j - 2]! + 1 : Infinity,
      )
      if (row[j]! < least) least = row[j]!
    }
    // The next row goes on from this one, or by a swap from the one above it.
    if (Math.min(least, leastAbove + 1) >= limit) return Infinity
    former = above
    above = row
  }
  return above[meant.length]!
}
