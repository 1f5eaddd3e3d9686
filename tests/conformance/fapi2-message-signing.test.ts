/** FAPI 2.0 Message Signing: signed requests (JAR) and answers (JARM), each with and without the other. */
import { runFapiPlan } from './fapi/plan.ts'
import { startFapiServer } from './fapi/suite.ts'

const server = await startFapiServer()
await runFapiPlan(
  'fapi2-message-signing-final-test-plan private_key_jwt dpop openid_connect signed_non_repudiation jarm',
  server,
)
await runFapiPlan(
  'fapi2-message-signing-final-test-plan private_key_jwt mtls openid_connect signed_non_repudiation plain_response',
  server,
)
await runFapiPlan('fapi2-message-signing-final-test-plan mtls dpop plain_oauth unsigned jarm', server)
await runFapiPlan(
  'fapi2-message-signing-final-test-plan mtls mtls plain_oauth signed_non_repudiation jarm',
  server,
)
