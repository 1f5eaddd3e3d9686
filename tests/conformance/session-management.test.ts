import { sessionManagement } from './checks/session-management.ts'
import { runPlan } from './plan.ts'
import { startSuite } from './suite.ts'

const suite = await startSuite('query', { OIDC_SESSION_MANAGEMENT: 'true' })
runPlan('oidcc-session-management-certification-test-plan', sessionManagement, suite)
