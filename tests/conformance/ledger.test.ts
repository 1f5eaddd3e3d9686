/** That the ledger is kept: every plan runs, nothing is missing from it, and nothing in it is switched off. */
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { backChannelLogout } from './checks/backchannel-logout.ts'
import { core, coreOf, type CorePlan } from './checks/core.ts'
import { discovery } from './checks/discovery.ts'
import { dynamic } from './checks/dynamic.ts'
import { frontChannelLogout } from './checks/frontchannel-logout.ts'
import { logout } from './checks/logout.ts'
import { sessionManagement } from './checks/session-management.ts'
import { thirdPartyLogin } from './checks/third-party-login.ts'
import { FAPI_MODULES, FAPI_PLANS, modulesOf } from './fapi/ledger.ts'
import { fapiChecks } from './fapi/plan.ts'
import { CIBA_MODULES, CIBA_PLANS, cibaModulesOf } from './fapi-ciba/ledger.ts'
import { cibaChecks } from './fapi-ciba/plan.ts'
import { PLANS, type PlanName } from './ledger.ts'
import { SSF_MODULES, SSF_PLANS, ssfModulesOf } from './ssf/ledger.ts'
import { ssfChecks } from './ssf/plan.ts'

const here = import.meta.dirname
const files = (await readdir(here, { recursive: true })).filter((file) => file.endsWith('.ts'))
const read = async (file: string): Promise<string> => readFile(join(here, file), 'utf8')

const OTHERS = {
  'oidcc-config-certification-test-plan': discovery,
  'oidcc-rp-initiated-logout-certification-test-plan': logout,
  'oidcc-backchannel-rp-initiated-logout-certification-test-plan': backChannelLogout,
  'oidcc-frontchannel-rp-initiated-logout-certification-test-plan': frontChannelLogout,
  'oidcc-dynamic-certification-test-plan': dynamic,
  'oidcc-3rdparty-init-login-certification-test-plan': thirdPartyLogin,
  'oidcc-session-management-certification-test-plan': sessionManagement,
}
const ALL = Object.keys(PLANS) as PlanName[]
const CORE = ALL.filter((plan): plan is CorePlan => !Object.hasOwn(OTHERS, plan))
const CHECKS: Partial<Record<PlanName, object>> = {
  ...OTHERS,
  ...Object.fromEntries(CORE.map((plan) => [plan, coreOf(plan)])),
}

/** The files that run a plan. */
async function runningIn(plan: string): Promise<string[]> {
  const running = []
  for (const file of files.filter((one) => one.endsWith('.test.ts')))
    if (new RegExp(`^(?:await )?run(?:Core|Fapi|Ciba|Ssf)?Plan\\(\\s*'${plan}'`, 'm').test(await read(file)))
      running.push(file)
  return running
}

test.each(ALL)('every module of %s has its test', async (plan) => {
  expect(Object.keys(CHECKS[plan]!).toSorted()).toEqual(PLANS[plan].toSorted())
  expect(await runningIn(plan)).toHaveLength(1)
})

test.each([...FAPI_PLANS, ...CIBA_PLANS, ...SSF_PLANS])('%s runs', async (plan) => {
  expect(await runningIn(plan)).toHaveLength(1)
})

test('every module of the FAPI 2.0 plans has its check, and every check its module', () => {
  expect(Object.keys(fapiChecks).toSorted()).toEqual(FAPI_MODULES.toSorted())
})

test('every module of the FAPI-CIBA plans has its check, and every check its module', () => {
  expect(Object.keys(cibaChecks).toSorted()).toEqual(CIBA_MODULES.toSorted())
})

test('every module of the plans for SSF transmitters has its check, and every check its module', () => {
  expect(Object.keys(ssfChecks).toSorted()).toEqual(SSF_MODULES.toSorted())
})

test('every check is of a module that some plan has', () => {
  const asked = new Set<string>(CORE.flatMap((plan) => PLANS[plan]))
  expect(Object.keys(core).filter((module) => !asked.has(module))).toEqual([])
})

test('the plans are as long as the Foundation has them', () => {
  const lengths = Object.values(PLANS).map((modules) => new Set<string>(modules).size)
  expect(lengths).toEqual([1, 38, 38, 27, 31, 36, 33, 33, 27, 31, 36, 33, 33, 11, 2, 2, 2, 23, 2])
  expect(FAPI_PLANS.map((plan) => new Set(modulesOf(plan)).size)).toEqual([
    56, 47, 46, 37, 50, 41, 40, 31, 14, 10, 9, 5, 70, 61, 40, 45,
  ])
  expect(CIBA_PLANS.map((plan) => new Set(cibaModulesOf(plan)).size)).toEqual([35, 40, 33, 38])
  expect(SSF_PLANS.map((plan) => new Set(ssfModulesOf(plan)).size)).toEqual([28, 34, 20, 26])
})

test('none of them is switched off', async () => {
  for (const file of files.filter((one) => one !== 'ledger.test.ts'))
    expect([file, /\.(skip|todo|only|fails)\b|skipIf|runIf/.test(await read(file))]).toEqual([file, false])
})
