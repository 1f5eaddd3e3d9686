import { thirdPartyLogin } from './checks/third-party-login.ts'
import { runPlan } from './plan.ts'
import { startDynamicSuite } from './suite.ts'

runPlan('oidcc-3rdparty-init-login-certification-test-plan', thirdPartyLogin, await startDynamicSuite())
