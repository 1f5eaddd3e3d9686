/** Makes tests from a FAPI plan of the ledger: one per module, by the module's whole name. */
import { describe, expect, test } from 'vitest'
import type { TestServer } from '../../support/server.ts'
import { dpop } from './checks/dpop.ts'
import { flow } from './checks/flow.ts'
import { pushed } from './checks/pushed.ts'
import { requestObjects } from './checks/request-objects.ts'
import { requests } from './checks/requests.ts'
import { tokens } from './checks/tokens.ts'
import { modulesOf, PREFIX, type FapiModule, type FapiPlan } from './ledger.ts'
import { createFapiSuite, type FapiSuite } from './suite.ts'

export type FapiCheck = (suite: FapiSuite) => Promise<void>
/** What a file of checks exports: those of some modules. */
export type FapiChecks = Partial<Record<FapiModule, FapiCheck>>

/** A module that nobody checks is an error of types, and of the ledger's test. */
export const fapiChecks: Readonly<Record<FapiModule, FapiCheck>> = {
  ...flow,
  ...dpop,
  ...requestObjects,
  ...requests,
  ...pushed,
  ...tokens,
}

export async function runFapiPlan(plan: FapiPlan, server: TestServer): Promise<void> {
  const suite = await createFapiSuite(plan, server)
  describe(plan, () => {
    test.for(modulesOf(plan))(`${PREFIX}%s`, async (module) => {
      expect.hasAssertions()
      await fapiChecks[module](suite)
    })
  })
}
