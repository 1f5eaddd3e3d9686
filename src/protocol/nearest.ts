/** Which of the known names a misspelt one is meant to be. */

/** Of a name that is longer, no more is compared: nobody means a page of text. */
const LONGEST = 64

export interface Nearest {
  readonly nearest: string
  /** How many letters were left out, added, changed or swapped with their neighbour. */
  readonly distance: number
}

/** `known` has one at least. */
export function findNearest(name: string, known: readonly string[]): Nearest {
  return known
    .map((nearest) => ({ nearest, distance: distanceBetween(name, nearest) }))
    .reduce((a, b) => (b.distance < a.distance ? b : a))
}

/** How many slips a misspelt name has at most: of a short one, others' names are as near. */
export function closeTo(name: string): number {
  return name.length < 6 ? 1 : 2
}

function distanceBetween(given: string, meant: string): number {
  const a = given.slice(0, LONGEST)
  let former: number[] = []
  let above = Array.from({ length: meant.length + 1 }, (_, at) => at)
  for (let i = 1; i <= a.length; i++) {
    const row = [i]
    for (let j = 1; j <= meant.length; j++) {
      const isSame = a[i - 1] === meant[j - 1]
      const isSwapped = i > 1 && j > 1 && a[i - 1] === meant[j - 2] && a[i - 2] === meant[j - 1]
      row[j] = Math.min(
        above[j]! + 1,
        row[j - 1]! + 1,
        above[j - 1]! + (isSame ? 0 : 1),
        isSwapped ? former[j - 2]! + 1 : Infinity,
      )
    }
    former = above
    above = row
  }
  return above[meant.length]!
}
