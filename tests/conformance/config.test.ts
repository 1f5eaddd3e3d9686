import { discovery } from './checks/discovery.ts'
import { runPlan } from './plan.ts'
import { startSuite } from './suite.ts'

runPlan('oidcc-config-certification-test-plan', discovery, await startSuite())
