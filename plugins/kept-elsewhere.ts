/** What of a user is kept elsewhere, such as in a directory, and is not theirs to change here. */
import type { KeptElsewhere } from '../src/doors/password-source.ts'
import type { OAuth } from './oauth.ts'

/** Null where all of it is ours. */
export async function keptElsewhere(oauth: OAuth, userId: string): Promise<KeptElsewhere | null> {
  for (const source of oauth.owners('passwordSource').values()) {
    const kept = await source.keeps(userId)
    if (kept !== null) return kept
  }
  return null
}
