/** Hashes of passwords that users bring from elsewhere: which are read here, and whose they become. */
import { reason } from '../../protocol/message.ts'
import { userError } from '../../protocol/user-members.ts'
import type { UserRow } from '../../store/users.ts'
import type { Passwords } from './passwords.ts'

export interface ImportedPasswords {
  /** Throws `OAuthError` (`invalid_request`) for one of a form that is not read here. */
  assertReadable(passwordHash: string | undefined): void
  /** Whether the user takes it: they have no password, or another imported one, never used here. */
  takes(row: Pick<UserRow, 'passwordHash'>, passwordHash: string): boolean
}

/** @internal */
export function createImportedPasswords({ isImported }: Pick<Passwords, 'isImported'>): ImportedPasswords {
  return {
    assertReadable(passwordHash) {
      if (passwordHash !== undefined && !isImported(passwordHash))
        throw userError('password', reason('has a hash of a form that is not read here'))
    },
    takes: ({ passwordHash: stored }, imported) =>
      stored === null || stored === undefined || (stored !== imported && isImported(stored)),
  }
}
