/**
 * The one-time link by which the first administrator is made: 256 random bits, stored hashed, good for half an hour,
 * and for nothing once there is an administrator. Who may see it is decided by where it is printed.
 */
import type { Artifacts } from '../../doors/artifacts.ts'
import { OAuthError } from '../../protocol/errors.ts'
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
export const INVITATION_LIFETIME = 1800

const OPEN = { used: false }
const USED = { used: true }
/** What all links have in common: of two that are used at once, one makes an administrator. */
const TURN = 'turn'
const [FREE, TAKEN] = [{ taken: false }, { taken: true }]

/** `invitations` live `INVITATION_LIFETIME`. */
export function createFirstAdministrator(users: UserRegistry, invitations: Artifacts): FirstAdministrator {
  const isInvited = async (code: string): Promise<boolean> =>
    (await invitations.get(code))?.['used'] === false && !(await users.hasRole(ADMIN))

  const takeTurn = async (): Promise<boolean> => {
    await invitations.put(FREE, TURN).catch(() => undefined)
    return invitations.replace(TURN, FREE, TAKEN)
  }

  return {
    invite: async () => ((await users.hasRole(ADMIN)) ? null : invitations.put(OPEN)),
    isInvited,
    async create(code, members) {
      if (!(await isInvited(code)) || !(await takeTurn())) throw spent()
      try {
        if (!(await isInvited(code))) throw spent()
        const user = await users.create({ ...members, roles: [ADMIN] })
        await invitations.replace(code, OPEN, USED)
        return user
      } finally {
        await invitations.replace(TURN, TAKEN, FREE)
      }
    },
  }
}

function spent(): OAuthError {
  return new OAuthError('access_denied', 'this link has been used, is too old, or an administrator exists')
}
