import { runCorePlan } from './checks/core.ts'
import { startSuite } from './suite.ts'

runCorePlan('oidcc-basic-certification-test-plan', await startSuite())
