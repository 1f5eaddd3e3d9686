/** What this plugin can do about what a sign-in lacks. */
import type { Requirement } from '../../src/doors/assurance.ts'
import { reachesAcr } from '../require-scope/acr.ts'
import { SHOWN } from './factors.ts'

/** Whether a factor brings somebody nearer to it. */
export function isFactorMissing(missing: readonly Requirement[]): boolean {
  return missing.some(({ acr }) => acr?.some((one) => reachesAcr(SHOWN.acr, one)))
}
