/** What an attempt at a delivery threw: whether anybody was asked, and what administrators read of it, as of any attempt. */
import { NotNow, OutboundError } from '../../doors/outbound.ts'
import { TooManyUnderWay } from '../outbound/too-many.ts'

/** Milliseconds where too much is asked of others at once. */
const PAUSE_OF_CROWDED = 2000

/** Milliseconds until the next try, where nobody was asked; else undefined. */
export function pauseBefore(error: unknown): number | undefined {
  if (error instanceof TooManyUnderWay) return PAUSE_OF_CROWDED
  return error instanceof NotNow ? error.pauseMs : undefined
}

/** What went wrong, as `lineOf`. */
export function describe(error: unknown): string {
  if (error instanceof OutboundError) return lineOf(error.reason)
  return lineOf(error instanceof Error ? error.message : String(error))
}

/** One line, and not a long one. */
export function lineOf(text: string): string {
  return text
    .replaceAll(/\p{Cc}+/gu, ' ')
    .slice(0, 300)
    .toWellFormed()
}
