/** The checks of the plans of OpenID Connect Core, from their files. */
import { PLANS, type ModuleName, type PlanName } from '../ledger.ts'
import { runPlan, type Check } from '../plan.ts'
import type { Suite } from '../suite.ts'
import { flow } from './flow.ts'
import { hints } from './hints.ts'
import { idToken } from './id-token.ts'
import { refusals } from './refusals.ts'
import { sessions } from './sessions.ts'
import { tokens } from './tokens.ts'
import { userinfo } from './userinfo.ts'

export const core = { ...flow, ...idToken, ...userinfo, ...hints, ...sessions, ...tokens, ...refusals }

/** Those that this plan asks for. */
export function coreOf<Name extends CorePlan>(plan: Name): Readonly<Record<ModuleName<Name>, Check>> {
  const modules: readonly string[] = PLANS[plan]
  return Object.fromEntries(Object.entries(core).filter(([module]) => modules.includes(module))) as never
}

export function runCorePlan(name: CorePlan, suite: Suite): void {
  runPlan(name, coreOf(name), suite)
}

/** A plan that has no other modules. */
export type CorePlan = {
  [Name in PlanName]: ModuleName<Name> extends keyof typeof core ? Name : never
}[PlanName]
