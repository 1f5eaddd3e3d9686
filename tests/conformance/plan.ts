/** Makes tests from a plan of the ledger: one per module, by the module's name. */
import { describe, expect, test } from 'vitest'
import { PLANS, type ModuleName, type PlanName } from './ledger.ts'
import type { Suite } from './suite.ts'

export type Check = (suite: Suite) => Promise<void>
/** What a file of checks exports: those of some modules. */
export type Checks<Name extends PlanName = PlanName> = Partial<Record<ModuleName<Name>, Check>>

/** A module that nobody checks is a red test, and so is a check that no plan asks for. */
export function runPlan<Name extends PlanName>(
  name: Name,
  checks: Readonly<Record<ModuleName<Name>, Check>>,
  suite: Suite,
): void {
  const modules: readonly ModuleName<Name>[] = PLANS[name]
  describe(name, () => {
    test('every module has its check, and every check its module', () => {
      expect(Object.keys(checks).toSorted()).toEqual(modules.toSorted())
    })
    test.for(modules)('%s', async (module) => {
      expect.hasAssertions()
      await checks[module](suite)
    })
  })
}
