import { logout } from './checks/logout.ts'
import { runPlan } from './plan.ts'
import { startSuite } from './suite.ts'

runPlan('oidcc-rp-initiated-logout-certification-test-plan', logout, await startSuite())
