import { frontChannelLogout } from './checks/frontchannel-logout.ts'
import { runPlan } from './plan.ts'
import { startSuite } from './suite.ts'

runPlan(
  'oidcc-frontchannel-rp-initiated-logout-certification-test-plan',
  frontChannelLogout,
  await startSuite(),
)
