import { runCorePlan } from './checks/core.ts'
import { startSuites } from './suite.ts'

const suites = await startSuites(['code id_token', 'code token', 'code id_token token'])
runCorePlan('oidcc-hybrid-certification-test-plan code id_token', suites['code id_token'])
runCorePlan('oidcc-hybrid-certification-test-plan code token', suites['code token'])
runCorePlan('oidcc-hybrid-certification-test-plan code id_token token', suites['code id_token token'])
