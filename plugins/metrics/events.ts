/** What has happened, by the events of the audit log: counted here from the start of the process. */
import { Counter, type Registry } from 'prom-client'
import type { EventType } from '../../src/events.ts'
import type { Audit } from '../../src/services/audit/audit.ts'

const COUNTED = [
  ['user.signed_in', 'latchkey_sign_ins_total', 'Sign-ins'],
  ['user.sign_in_failed', 'latchkey_sign_ins_failed_total', 'Sign-ins that were refused'],
  ['user.factor_failed', 'latchkey_second_factors_failed_total', 'Codes of a second factor that were wrong'],
  [
    'client.authentication_failed',
    'latchkey_client_authentications_failed_total',
    'Requests by which a client did not prove who it is',
  ],
  [
    'authorization.replayed',
    'latchkey_replays_total',
    'Codes and refresh tokens that came a second time, which ended their Authorization',
  ],
  ['device.code_refused', 'latchkey_device_codes_refused_total', 'Codes of devices that were not good'],
  ['ciba.asked', 'latchkey_ciba_requests_total', 'Approvals that apps asked people for (CIBA)'],
] as const satisfies readonly (readonly [EventType, string, string])[]

export function countEvents(audit: Pick<Audit, 'on'>, registry: Registry): void {
  const registers = [registry]
  const tokens = new Counter({
    name: 'latchkey_tokens_issued_total',
    help: 'Token responses, by the grant',
    labelNames: ['grant_type'] as const,
    registers,
  })
  audit.on('token.issued', ({ details: { grant_type } }) => tokens.inc({ grant_type }))
  const answers = new Counter({
    name: 'latchkey_ciba_answers_total',
    help: 'What people answered who were asked for an approval (CIBA): allowed or denied',
    labelNames: ['answer'] as const,
    registers,
  })
  for (const answer of ['allowed', 'denied'] as const) {
    answers.inc({ answer }, 0)
    audit.on(`ciba.${answer}`, () => answers.inc({ answer }))
  }
  const givenUp = new Counter({
    name: 'latchkey_deliveries_given_up_total',
    help: 'Deliveries to others that failed for a day',
    registers,
  })
  audit.on('delivery.given_up', ({ details: { count = 1 } }) => givenUp.inc(count))
  for (const [type, name, help] of COUNTED) {
    const counter = new Counter({ name, help, registers })
    audit.on(type, () => counter.inc())
  }
}
