import { runCorePlan } from './checks/core.ts'
import { startSuites } from './suite.ts'

const suites = await startSuites(['id_token', 'id_token token'], 'form_post')
runCorePlan('oidcc-formpost-implicit-certification-test-plan id_token', suites['id_token'])
runCorePlan('oidcc-formpost-implicit-certification-test-plan id_token token', suites['id_token token'])
