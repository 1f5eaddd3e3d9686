import { dynamic } from './checks/dynamic.ts'
import { runPlan } from './plan.ts'
import { startDynamicSuite } from './suite.ts'

runPlan('oidcc-dynamic-certification-test-plan', dynamic, await startDynamicSuite())
