/** The end of everything that a user has here, who may sign in again at once: what a new password ends, without one. */
import { endEverything } from '../../store/endings.ts'
import { statements } from '../../store/users.ts'
import { isInvitation } from './invitations.ts'
import { endMailedLinks } from './mailed-link-ends.ts'
import type { Also } from './update-options.ts'
import type { UserChange } from './user-changes.ts'
import { lockRow, type Whom } from './user-finder.ts'

export interface TokenRevocation {
  /**
   * Ends every session, code and Authorization of the user, those with `offline_access` too, and every link for a new password, handed over or mailed, and
   * has the apps told that want to know. They may sign in again, and nobody else has to do anything for that. False where there is none.
   */
  revokeTokens(whom: Whom, options?: RevocationOptions): Promise<boolean>
}

export interface RevocationOptions {
  /** @internal What goes with it; before anything is ended. */
  also?: Also
}

/** @internal */
export function createTokenRevocation(changeUser: UserChange): TokenRevocation {
  return {
    async revokeTokens(whom, { also } = {}) {
      const revoked = await changeUser(async (query, note) => {
        const row = await lockRow(query, whom)
        if (row === undefined) return undefined
        await also?.(query, note, row.id)
        // With a link that was handed over. And their row is another one from here on, so that a sign-in which is under way, of the user as they
        // were before, begins no session: `disable` and a new password do the same.
        await query(statements.endPasswordLink, [row.id])
        const clients = await endEverything(query, row.id, 'tokens revoked')
        // Whoever had one sent, or has read it, may be why all of it ends.
        const links = await endMailedLinks(query, row.id)
        note({ type: 'user.tokens_revoked', user: row.id, details: { clients } })
        // They may have no other way in: who invited them has to know.
        if (links.some((link) => isInvitation(link, row)))
          note({ type: 'user.invitation_withdrawn', user: row.id, details: {} })
        return row
      })
      return revoked !== undefined
    },
  }
}
