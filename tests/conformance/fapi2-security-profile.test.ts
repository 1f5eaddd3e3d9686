/** FAPI 2.0 Security Profile: each way to prove a client with each way to bind a token, for OpenID Connect, plain OAuth and clients of their own. */
import { runFapiPlan } from './fapi/plan.ts'
import { startFapiServer } from './fapi/suite.ts'

const server = await startFapiServer()
await runFapiPlan(
  'fapi2-security-profile-final-test-plan private_key_jwt dpop openid_connect plain_fapi',
  server,
)
await runFapiPlan(
  'fapi2-security-profile-final-test-plan private_key_jwt mtls openid_connect plain_fapi',
  server,
)
await runFapiPlan('fapi2-security-profile-final-test-plan mtls dpop openid_connect plain_fapi', server)
await runFapiPlan('fapi2-security-profile-final-test-plan mtls mtls openid_connect plain_fapi', server)
await runFapiPlan(
  'fapi2-security-profile-final-test-plan private_key_jwt dpop plain_oauth plain_fapi',
  server,
)
await runFapiPlan(
  'fapi2-security-profile-final-test-plan private_key_jwt mtls plain_oauth plain_fapi',
  server,
)
await runFapiPlan('fapi2-security-profile-final-test-plan mtls dpop plain_oauth plain_fapi', server)
await runFapiPlan('fapi2-security-profile-final-test-plan mtls mtls plain_oauth plain_fapi', server)
await runFapiPlan(
  'fapi2-security-profile-final-test-plan private_key_jwt dpop plain_oauth fapi_client_credentials_grant',
  server,
)
await runFapiPlan(
  'fapi2-security-profile-final-test-plan private_key_jwt mtls plain_oauth fapi_client_credentials_grant',
  server,
)
await runFapiPlan(
  'fapi2-security-profile-final-test-plan mtls dpop plain_oauth fapi_client_credentials_grant',
  server,
)
await runFapiPlan(
  'fapi2-security-profile-final-test-plan mtls mtls plain_oauth fapi_client_credentials_grant',
  server,
)
