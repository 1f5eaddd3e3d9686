/** What is noted of the sign-ins that were done in an interaction: by it they are known again when its next page is asked for. */
import type { Session } from '../../src/doors/interaction.ts'

export interface SignInNote {
  /** The latest: all that the version before the last one knows, and has noted. */
  readonly sid?: string
  readonly sids?: readonly string[]
  /** Milliseconds since the epoch: one that lacked a factor goes on as the session that it renews, under the `sid` of that. */
  readonly times?: readonly number[]
  /** The ids of who was signed in before: the sign-in took their session's place. */
  readonly before?: readonly string[]
}

/** More clicks than these make the first ones forgotten. */
const MOST = 8

/** In the place of `former`. */
export function noteOf({ sid, authenticatedAt }: Session, former: Session | null = null): SignInNote {
  const before = former === null ? [] : [former.userId]
  return { sid, sids: [sid], times: [authenticatedAt], before }
}

/** Whether the session came of a sign-in in this interaction. */
export function isNoted({ sid, authenticatedAt }: Session, note: SignInNote = {}): boolean {
  return sidsOf(note).includes(sid) || timesOf(note).includes(authenticatedAt)
}

/** Of a double click: the cookie of either session may be the one that the browser keeps. Empty where nobody signed in. */
export function bothOf(before: SignInNote, now: SignInNote): SignInNote {
  const sids = [...sidsOf(before), ...sidsOf(now)].slice(-MOST)
  const times = [...timesOf(before), ...timesOf(now)].slice(-MOST)
  const former = [...usersBefore(before), ...usersBefore(now)].slice(-MOST)
  const [latest] = sids.slice(-1)
  return latest === undefined ? {} : { sid: latest, sids, times, before: former }
}

/** Whose page the sign-ins came from. */
export function usersBefore({ before = [] }: SignInNote = {}): readonly string[] {
  return before
}

function sidsOf({ sid, sids }: SignInNote): readonly string[] {
  return sids ?? (sid === undefined ? [] : [sid])
}

function timesOf({ times = [] }: SignInNote): readonly number[] {
  return times
}
