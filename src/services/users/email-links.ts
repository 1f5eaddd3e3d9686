/**
 * Links by which people confirm an address as theirs: 256 random bits in a mail to it, stored hashed, for a day. Until then the address that
 * they had stays. A later link takes the place of an earlier one, and a new password ends it, as does signing out elsewhere: who was here
 * meanwhile gets nothing confirmed.
 */
import { OAuthError } from '../../protocol/errors.ts'
import { statements as artifactStatements } from '../../store/artifacts.ts'
import type { Database } from '../../store/database.ts'
import { findUserRow, statements, type UserRow } from '../../store/users.ts'
import type { ArtifactStore } from '../artifact-store.ts'
import type { SecretBox } from '../keys/secret-box.ts'
import type { AlsoUsed } from './password-links.ts'
import { passwordMark } from './password-mark.ts'
import { noteChanges, type UserChange } from './user-changes.ts'
import { claimAddress, toRefusal } from './verified-address.ts'
import { endedSince, isInUse, toUser, type User } from './user.ts'

export interface EmailLinks {
  /** The token of a link; null for who is not there or may not sign in. */
  make(userId: string, email: string): Promise<string | null>
  /** Whose link it is, and for which address; null where it is not good now. */
  find(token: string): Promise<{ readonly user: User; readonly email: string } | null>
  /**
   * From now on it is their verified address. Throws `access_denied` for a link that is not good, and `invalid_request` for an address that
   * is somebody else's by now. `also` is stored with it.
   */
  confirm(token: string, also?: AlsoUsed): Promise<User>
}

interface Stored {
  readonly user: string
  readonly email: string
  /** Of the password that they had. */
  readonly mark: string
  /** Milliseconds since the epoch, by the clock of the processes; those of earlier versions do not say. */
  readonly madeAt?: number
}

const KIND = 'email-link'
/** Seconds. */
const LIFETIME = 86_400

/** @internal */
export interface EmailLinksOptions {
  database: Database
  changeUser: UserChange
  box: SecretBox
  artifacts: ArtifactStore['artifacts']
}

/** @internal */
export function createEmailLinks({ database, changeUser, box, artifacts }: EmailLinksOptions): EmailLinks {
  const links = artifacts<Stored>(KIND, {
    lifetime: LIFETIME,
    ofUsers: true,
    describe: ({ email }) => ({ email }),
  })

  async function findRow(token: string): Promise<{ row: UserRow; email: string } | null> {
    const stored = await links.get(token)
    const row = stored === null ? null : await findUserRow(database, stored.user)
    return stored !== null && row !== null && isGood(stored, row) ? { row, email: stored.email } : null
  }

  return {
    async make(userId, email) {
      const row = await findUserRow(database, userId)
      if (row === null || !isInUse(toUser(row))) return null
      const stored = { user: row.id, email, mark: passwordMark(row), madeAt: Date.now() }
      const token = await links.put(stored, { owner: row.id, most: 1 })
      return token === false ? null : token
    },
    async find(token) {
      const found = await findRow(token)
      return found && { user: toUser(found.row), email: found.email }
    },
    async confirm(token, also) {
      const found = await findRow(token)
      if (found === null) throw spent()
      const { email, row: known } = found
      const confirmed = changeUser(async (query, note) => {
        const [before] = await query(statements.lockById, [known.id])
        const [used] = await query(artifactStatements.spend, [KIND, box.hashes(token)])
        if (before === undefined || used === undefined || !isGood(used.value as unknown as Stored, before))
          throw spent()
        const claims = { email, email_verified: true }
        const [after] = await query(statements.update, [before.id, claims, null, null])
        await claimAddress(query, after!, claims)
        noteChanges(note, before, after!)
        await also?.(query, before.id)
        return after!
      })
      const row = await confirmed.catch((error: unknown) => {
        throw toRefusal(error)
      })
      return toUser(row)
    },
  }
}

function isGood({ user, mark, madeAt }: Stored, row: UserRow): boolean {
  const known = toUser(row)
  const isOver = madeAt !== undefined && endedSince(known, madeAt)
  return known.id === user && isInUse(known) && !isOver && mark === passwordMark(row)
}

function spent(): OAuthError {
  return new OAuthError('access_denied', 'this link has been used, is too old, or was replaced by another')
}
