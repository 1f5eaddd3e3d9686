/** Asks the policies what a sign-in still lacks. Where there are none, nothing is asked, nor looked up. */
import type { ApprovalRequest } from '../../doors/approval.ts'
import { type Factors, type Requirement, satisfies } from '../../doors/assurance.ts'
import type { DoorRegistry } from '../../doors/registry.ts'
import type { Directory } from '../directory.ts'
import { isOurs, ownRequest } from './ourselves.ts'

export interface Assurance {
  /**
   * What is required of the user and not shown, whatever they do and for this request; empty when all is. Throws 503 like the
   * directory.
   */
  missing(userId: string, factors: Factors, request: ApprovalRequest): Promise<readonly Requirement[]>
}

const NOTHING: readonly Requirement[] = []

/** @internal */
export function createAssurance(doors: DoorRegistry, { findUser }: Pick<Directory, 'findUser'>): Assurance {
  return {
    async missing(userId, factors, request) {
      const policies = doors.all('assurance')
      if (policies.length === 0) return NOTHING
      const user = await findUser(userId)
      if (user === null) return NOTHING
      const unmet: Requirement[] = []
      for (const asked of isOurs(request) ? [request] : [ownRequest(), request])
        for (const policy of policies) {
          const found = policy.require({ user, request: asked })
          // Most answer at once, and each page asks.
          const required = found instanceof Promise ? await found : found
          if (required !== null && !satisfies(factors, required)) unmet.push(required)
        }
      return unmet
    },
  }
}
