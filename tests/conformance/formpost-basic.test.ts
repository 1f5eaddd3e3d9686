import { basic } from './checks/basic.ts'
import { runPlan } from './plan.ts'
import { startSuite } from './suite.ts'

runPlan('oidcc-formpost-basic-certification-test-plan', basic, await startSuite('form_post'))
