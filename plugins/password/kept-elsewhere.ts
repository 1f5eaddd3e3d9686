/** What of a user is kept elsewhere, such as in a directory: what is not theirs to change here, and whether they are still there. */
import type { KeptElsewhere } from '../../src/doors/password-source.ts'
import type { User } from '../../src/doors/user.ts'
import type { OAuth } from '../oauth/index.ts'

/** Null where all of it is ours. */
export async function keptElsewhere(oauth: OAuth, userId: string): Promise<KeptElsewhere | null> {
  for (const source of oauth.owners('passwordSource').values()) {
    const kept = await source.keeps(userId)
    if (kept !== null) return kept
  }
  return null
}

/** True for who is none of theirs. */
async function isStillThere(oauth: OAuth, userId: string): Promise<boolean> {
  for (const source of oauth.owners('passwordSource').values())
    if ((await source.isThere?.(userId)) === false) return false
  return true
}

/**
 * Whoever is about to be signed in, with what has changed there since they were read, which is no reason to refuse them; null for who is gone from
 * there. Whatever else has changed, they are given back as they were read, for `begin` to see: what they have was ended meanwhile, say.
 */
export async function presentAt<Read extends Pick<User, 'id' | 'updatedAt'>>(
  oauth: OAuth,
  read: Read,
): Promise<Read | User | null> {
  if (
    oauth
      .owners('passwordSource')
      .values()
      .every(({ isThere }) => isThere === undefined)
  )
    return read
  const before = await oauth.findUser(read.id)
  if (!(await isStillThere(oauth, read.id))) return null
  const now = await oauth.findUser(read.id)
  const isFromThere = before?.updatedAt === read.updatedAt && now?.endedAt === before.endedAt
  return isFromThere ? now : read
}

/** The user as they are now, with what has changed there; null for who is gone from there, or is nobody. */
export async function findPresent(oauth: OAuth, userId: string): Promise<User | null> {
  return (await isStillThere(oauth, userId)) ? oauth.findUser(userId) : null
}
