import { backChannelLogout } from './checks/backchannel-logout.ts'
import { runPlan } from './plan.ts'
import { startSuite } from './suite.ts'

runPlan(
  'oidcc-backchannel-rp-initiated-logout-certification-test-plan',
  backChannelLogout,
  await startSuite(),
)
