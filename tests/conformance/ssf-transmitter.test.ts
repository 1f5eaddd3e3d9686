/**
 * Transmitters of the Shared Signals Framework: each way of delivery, alone and held to the CAEP Interoperability Profile.
 * @needs latchkey-shared-signals
 */
import { runSsfPlan } from './ssf/plan.ts'
import { startSsfServer } from './ssf/suite.ts'

const served = await startSsfServer()
await runSsfPlan('openid-ssf-transmitter-test-plan push default', served)
await runSsfPlan('openid-ssf-transmitter-test-plan poll default', served)
await runSsfPlan('openid-ssf-transmitter-caep-test-plan push caep_interop', served)
await runSsfPlan('openid-ssf-transmitter-caep-test-plan poll caep_interop', served)
