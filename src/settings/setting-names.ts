/**
 * Names that are no setting and look like one. Unknown names are ignored, as an environment is full of other programs'; so
 * whoever misspelt one would hear nothing, and serve with a default.
 */
import type { SettingValues } from '../config.ts'
import { closeTo, FAR, findNearest } from '../protocol/nearest.ts'
import { namesOf, settingsOf } from './setting-value.ts'
import { Settings } from './index.ts'

const NAMES: readonly string[] = settingsOf(Settings).flatMap(([name, schema]) => namesOf(name, schema))
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
      const isOfOthers = process.env[name] === String(value) && !name.startsWith(PREFIX)
      const { nearest, distance } = findNearest(name.toUpperCase(), known, isOfOthers ? FAR : Infinity)
      if (isOfOthers && distance > closeTo(nearest)) return []
      return [`${name.slice(0, LONGEST)} is no setting, and is ignored: the nearest is ${nearest}.`]
    })
}
