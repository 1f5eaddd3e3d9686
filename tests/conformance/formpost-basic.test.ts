import { runCorePlan } from './checks/core.ts'
import { startSuite } from './suite.ts'

runCorePlan('oidcc-formpost-basic-certification-test-plan', await startSuite('form_post'))
