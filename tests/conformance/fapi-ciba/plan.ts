/** Makes tests from a FAPI-CIBA plan of the ledger: one per module, by the module's whole name. */
import { describe, expect, test } from 'vitest'
import { authentication } from './checks/authentication.ts'
import { flow } from './checks/flow.ts'
import { pings } from './checks/pings.ts'
import { requestObjects } from './checks/request-objects.ts'
import { CIBA_PREFIX, cibaModulesOf, type CibaModule, type CibaPlan } from './ledger.ts'
import { createCibaSuite, type CibaServer, type CibaSuite } from './suite.ts'

export type CibaCheck = (suite: CibaSuite) => Promise<void>
/** What a file of checks exports: those of some modules. */
export type CibaChecks = Partial<Record<CibaModule, CibaCheck>>

/** A module that nobody checks is an error of types, and of the ledger's test. */
export const cibaChecks: Readonly<Record<CibaModule, CibaCheck>> = {
  ...flow,
  ...requestObjects,
  ...authentication,
  ...pings,
}

export async function runCibaPlan(plan: CibaPlan, served: CibaServer): Promise<void> {
  const suite = await createCibaSuite(plan, served)
  describe(plan, () => {
    test.for(cibaModulesOf(plan))(`${CIBA_PREFIX}%s`, async (module) => {
      expect.hasAssertions()
      await cibaChecks[module](suite)
      served.answers.next = undefined
      // The Foundation's person answers at last whatever a module left open.
      await served.server.database.query(`delete from artifacts where kind = 'ciba-place'`)
    })
  })
}
