/**
 * Asks the policies what a sign-in still lacks. Where there are none, nothing is asked, nor looked up. They answer from memory, and another
 * process may know better by now: what decides where somebody is led is read anew, or two processes would lead a browser to and fro.
 */
import type { ApprovalRequest } from '../../doors/approval.ts'
import { type Factors, type Requirement, satisfies } from '../../doors/assurance.ts'
import type { DoorRegistry } from '../../doors/registry.ts'
import type { Directory } from '../directory.ts'
import { isOurs, ownRequest } from './ourselves.ts'

/** How far the answer may rest on memory. */
export interface Purpose {
  /** The request that is answered: the user is read anew once for each, however often it is asked. */
  readonly of: object
  /** True where the answer lets somebody on who was asked for a factor: then "nothing is missing" is read from the database, too. Default false. */
  readonly letsOn?: boolean
}

export interface Assurance {
  /**
   * What is required of the user and not shown, whatever they do and for this request; empty when all is. What is missing by what memory
   * knows is missing by the database, too. Throws 503 like the directory.
   */
  missing(
    userId: string,
    factors: Factors,
    request: ApprovalRequest,
    purpose: Purpose,
  ): Promise<readonly Requirement[]>
}

const NOTHING: readonly Requirement[] = []

/** @internal */
export function createAssurance(
  doors: DoorRegistry,
  { findUser, renewUser }: Pick<Directory, 'findUser' | 'renewUser'>,
): Assurance {
  const renewed = new WeakMap<object, Map<string, Promise<void>>>()

  async function renewOnce(userId: string, of: object): Promise<void> {
    const users = renewed.get(of) ?? new Map<string, Promise<void>>()
    renewed.set(of, users)
    const renewal = users.get(userId) ?? renewUser(userId)
    users.set(userId, renewal)
    return renewal
  }

  async function unmet(
    userId: string,
    factors: Factors,
    request: ApprovalRequest,
  ): Promise<readonly Requirement[]> {
    const user = await findUser(userId)
    if (user === null) return NOTHING
    const found: Requirement[] = []
    for (const asked of isOurs(request) ? [request] : [ownRequest(), request])
      for (const policy of doors.all('assurance')) {
        const answer = policy.require({ user, request: asked })
        // Most answer at once, and each page asks.
        const required = answer instanceof Promise ? await answer : answer
        if (required !== null && !satisfies(factors, required)) found.push(required)
      }
    return found
  }

  return {
    async missing(userId, factors, request, { of, letsOn = false }) {
      if (doors.all('assurance').length === 0) return NOTHING
      if (!letsOn) {
        const remembered = await unmet(userId, factors, request)
        if (remembered.length === 0) return NOTHING
      }
      await renewOnce(userId, of)
      return unmet(userId, factors, request)
    },
  }
}
