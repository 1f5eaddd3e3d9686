/** Whether there is a type of event that somebody listens to, for plugins that no compiler reads: a name that is mistyped is never told of. */
import { ConfigError } from '../../config.ts'
import { OWN_EVENTS } from '../../events.ts'
import { findNearest } from '../../protocol/nearest.ts'

/**
 * Throws `ConfigError` for what is no type of an event: a word alone, or one of the server's with a letter more, less or other, or with
 * its last ones left out. All others may be a plugin's own.
 */
export function assertEventType(type: unknown): void {
  if (typeof type === 'string' && Object.hasOwn(OWN_EVENTS, type)) return
  const { nearest, distance } = findNearest(String(type), Object.keys(OWN_EVENTS))
  const isShortened = distance === 2 && nearest.length === String(type).length + 2
  if (typeof type === 'string' && type.includes('.') && distance > 1 && !isShortened) return
  throw new ConfigError(`There is no event ${String(type).slice(0, 80)}: the nearest is ${nearest}.`)
}
