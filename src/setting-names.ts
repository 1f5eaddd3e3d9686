/**
 * Names that are no setting and look like one. Unknown names are ignored, as an environment is full of other programs'; so
 * whoever misspelt one would hear nothing, and serve with a default.
 */
import type { SettingValues } from './config.ts'
import { Settings } from './settings.ts'

const NAMES: readonly string[] = Object.keys(Settings.properties)
/** Of ours alone, so that whatever begins with it is meant for us. */
const PREFIX = 'OIDC_'
/** Shown of a name: who sets it from code may have taken it from elsewhere. */
const LONGEST = 64

/**
 * A sentence for each, which names the nearest setting; never a value. `others` are those of plugins. Of the environment's
 * names, only what is close to one of ours or theirs; what was added to it, or comes from code, is meant for us whatever it is.
 */
export function describeStrays(values: SettingValues, others: Iterable<string> = []): string[] {
  const known = [...NAMES, ...others]
  return Object.entries(values)
    .filter(([name, value]) => value !== undefined && value !== '' && !known.includes(name))
    .flatMap(([name, value]) => {
      const { nearest, distance } = findNearest(name.toUpperCase(), known)
      const isOfOthers = process.env[name] === String(value) && !name.startsWith(PREFIX)
      if (isOfOthers && distance > closeTo(nearest)) return []
      return [`${name.slice(0, LONGEST)} is no setting, and is ignored: the nearest is ${nearest}.`]
    })
}

/** How many slips a misspelt name has at most: of a short one, others' names are as near. */
function closeTo(name: string): number {
  return name.length < 6 ? 1 : 2
}

function findNearest(name: string, known: readonly string[]): { nearest: string; distance: number } {
  return known
    .map((nearest) => ({ nearest, distance: distanceBetween(name, nearest) }))
    .reduce((a, b) => (b.distance < a.distance ? b : a))
}

/** Letters that were left out, added, changed or swapped with their neighbour. */
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
