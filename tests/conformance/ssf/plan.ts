/** Makes tests from a plan for transmitters of the ledger: one per module, by the module's whole name. */
import { describe, expect, test } from 'vitest'
import { interop } from './checks/interop.ts'
import { metadata } from './checks/metadata.ts'
import { refusals } from './checks/refusals.ts'
import { streams } from './checks/streams.ts'
import { verification } from './checks/verification.ts'
import { ssfModulesOf, SSF_PREFIX, type SsfModule, type SsfPlan } from './ledger.ts'
import { deleteAll, manage } from './receiver.ts'
import { createSsfSuite, type SsfServer, type SsfSuite } from './suite.ts'

export type SsfCheck = (suite: SsfSuite) => Promise<void>
/** What a file of checks exports: those of some modules. */
export type SsfChecks = Partial<Record<SsfModule, SsfCheck>>

/** A module that nobody checks is an error of types, and of the ledger's test. */
export const ssfChecks: Readonly<Record<SsfModule, SsfCheck>> = {
  ...metadata,
  ...streams,
  ...refusals,
  ...verification,
  ...interop,
}

export async function runSsfPlan(plan: SsfPlan, served: SsfServer): Promise<void> {
  const suite = await createSsfSuite(plan, served)
  describe(plan, () => {
    test.for(ssfModulesOf(plan))(`${SSF_PREFIX}%s`, async (module) => {
      expect.hasAssertions()
      // The Foundation's suite begins each module without a stream, whatever the one before it left.
      await deleteAll(await manage(suite))
      await ssfChecks[module](suite)
    })
  })
}
