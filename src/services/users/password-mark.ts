/** What stands for the password that somebody has, where something is bound to it. */
import { hash } from 'node:crypto'
import type { UserRow } from '../../store/users.ts'

/**
 * Another for every password, however often the same was chosen. Says nothing of it, nor of its hash: that has a salt of 128 bits.
 * @internal
 */
export function passwordMark({ passwordHash }: Pick<UserRow, 'passwordHash'>): string {
  return hash('sha256', `replaced password\0${passwordHash ?? ''}`, 'base64url')
}
