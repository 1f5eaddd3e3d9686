/**
 * The one-time link by which the first administrator is made: 256 random bits, stored hashed, good for half an hour,
 * and for nothing once there is an administrator. Who may see it is decided by where it is printed.
 */
import { OAuthError } from '../../protocol/errors.ts'
import type { ArtifactStore } from '../artifact-store.ts'
import type { UserRegistry } from './user-registry.ts'
import { ADMIN, type User } from './user.ts'

export interface FirstAdministrator {
  /** A new code for the link; null when there is an administrator already. */
  invite(): Promise<string | null>
  /** Whether the code is good now. */
  isInvited(code: string): Promise<boolean>
  /**
   * Makes the administrator and uses the code up. Throws `access_denied` for a code that is not good, and what
   * `users.create` throws; the code stays good then.
   */
  create(code: string, members: Readonly<Record<string, unknown>>): Promise<User>
}

/** The address that an invitation is followed by. */
export function setupAddress(issuer: string, code: string): string {
  return `${issuer}/setup?token=${code}`
}

/** Seconds. */
const SETUP_LIFETIME = 1800

/** What all links have in common: of two that are used at once, one makes an administrator. */
const TURN = 'turn'
/** Seconds after which it is taken from a process that died with it. */
const TURN_LIFETIME = 300

export function createFirstAdministrator(
  users: UserRegistry,
  artifacts: ArtifactStore['artifacts'],
): FirstAdministrator {
  const setupLinks = artifacts('setup', { lifetime: SETUP_LIFETIME })
  const turns = artifacts('setup-turn', { lifetime: TURN_LIFETIME })
  const isInvited = async (code: string): Promise<boolean> =>
    (await setupLinks.get(code)) !== null && !(await users.hasRole(ADMIN))

  return {
    invite: async () => ((await users.hasRole(ADMIN)) ? null : setupLinks.put({})),
    isInvited,
    async create(code, members) {
      if (!(await isInvited(code)) || !(await turns.put({}, { handle: TURN }))) throw spent()
      try {
        if (!(await isInvited(code))) throw spent()
        const user = await users.create({ ...members, roles: [ADMIN] })
        await setupLinks.spend(code)
        return user
      } finally {
        await turns.delete(TURN)
      }
    },
  }
}

function spent(): OAuthError {
  return new OAuthError('access_denied', 'this link has been used, is too old, or an administrator exists')
}
