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
import { PLANS, type PlanName } from './ledger.ts'

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

test.each(ALL)('every module of %s has its test', async (plan) => {
  expect(Object.keys(CHECKS[plan]!).toSorted()).toEqual(PLANS[plan].toSorted())
  const running = []
  for (const file of files.filter((one) => one.endsWith('.test.ts')))
    if (new RegExp(`^run(?:Core)?Plan\\(\\s*'${plan}'`, 'm').test(await read(file))) running.push(file)
  expect(running).toHaveLength(1)
})

test('every check is of a module that some plan has', () => {
  const asked = new Set<string>(CORE.flatMap((plan) => PLANS[plan]))
  expect(Object.keys(core).filter((module) => !asked.has(module))).toEqual([])
})

test('the plans are as long as the Foundation has them', () => {
  const lengths = Object.values(PLANS).map((modules) => new Set<string>(modules).size)
  expect(lengths).toEqual([1, 38, 38, 27, 31, 36, 33, 33, 27, 31, 36, 33, 33, 11, 2, 2, 2, 23, 2])
})

test('none of them is switched off', async () => {
  for (const file of files.filter((one) => one !== 'ledger.test.ts'))
    expect([file, /\.(skip|todo|only|fails)\b|skipIf|runIf/.test(await read(file))]).toEqual([file, false])
})
