import { basic } from './checks/basic.ts'
import { runPlan } from './plan.ts'
import { startSuite } from './suite.ts'

runPlan('oidcc-basic-certification-test-plan', basic, await startSuite())
