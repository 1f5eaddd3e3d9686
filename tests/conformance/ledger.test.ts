/** That the ledger is kept: every plan runs, nothing is missing from it, and nothing in it is switched off. */
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { backChannelLogout } from './checks/backchannel-logout.ts'
import { basic } from './checks/basic.ts'
import { discovery } from './checks/discovery.ts'
import { logout } from './checks/logout.ts'
import { PLANS, type PlanName } from './ledger.ts'

const here = import.meta.dirname
const files = (await readdir(here, { recursive: true })).filter((file) => file.endsWith('.ts'))
const read = async (file: string): Promise<string> => readFile(join(here, file), 'utf8')

const CHECKS = {
  'oidcc-config-certification-test-plan': discovery,
  'oidcc-basic-certification-test-plan': basic,
  'oidcc-formpost-basic-certification-test-plan': basic,
  'oidcc-rp-initiated-logout-certification-test-plan': logout,
  'oidcc-backchannel-rp-initiated-logout-certification-test-plan': backChannelLogout,
}

test.each(Object.keys(PLANS) as PlanName[])('every module of %s has its test', async (plan) => {
  expect(Object.keys(CHECKS[plan]).toSorted()).toEqual(PLANS[plan].toSorted())
  const running = []
  for (const file of files.filter((one) => one.endsWith('.test.ts')))
    if (new RegExp(`^runPlan\\(\\s*'${plan}'`, 'm').test(await read(file))) running.push(file)
  expect(running).toHaveLength(1)
})

test('the plans are as long as the Foundation has them', () => {
  const lengths = Object.values(PLANS).map((modules) => new Set<string>(modules).size)
  expect(lengths).toEqual([1, 38, 38, 11, 2])
})

test('none of them is switched off', async () => {
  for (const file of files.filter((one) => one !== 'ledger.test.ts'))
    expect([file, /\.(skip|todo|only|fails)\b|skipIf|runIf/.test(await read(file))]).toEqual([file, false])
})
