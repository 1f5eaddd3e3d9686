/**
 * FAPI-CIBA: each way to prove a client, for clients that poll and such that are pinged.
 * @needs latchkey-ciba, latchkey-fapi-ciba
 */
import { runCibaPlan } from './fapi-ciba/plan.ts'
import { startCibaServer } from './fapi-ciba/suite.ts'

const served = await startCibaServer()
await runCibaPlan('fapi-ciba-id1-test-plan private_key_jwt poll plain_fapi', served)
await runCibaPlan('fapi-ciba-id1-test-plan private_key_jwt ping plain_fapi', served)
await runCibaPlan('fapi-ciba-id1-test-plan mtls poll plain_fapi', served)
await runCibaPlan('fapi-ciba-id1-test-plan mtls ping plain_fapi', served)
