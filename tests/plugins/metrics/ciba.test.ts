/**
 * What is counted of approvals that apps ask for: the requests, what people answer, and pings by what became of them.
 * @needs latchkey-ciba
 */
import { expect, test } from 'vitest'
import { approve, ask, call, CALL_CENTRE, CIBA_SEED, CIBA_SETTINGS, pageOf } from '../../support/ciba.ts'
import { sumOf } from '../../support/metrics.ts'
import { startReceiver } from '../../support/receiver.ts'
import { startServer } from '../../support/server.ts'
import { freePort } from '../../support/settings.ts'
import { ALICE } from '../../support/sign-in.ts'
import { createUserAgent } from '../../support/user-agent.ts'

let status = 204
const receiver = await startReceiver((_request, response) => response.writeHead(status).end())
const origin = `http://127.0.0.1:${receiver.port}`
const PINGED = {
  ...CALL_CENTRE,
  client_id: 'pinged',
  backchannel_token_delivery_mode: 'ping',
  backchannel_client_notification_endpoint: `${origin}/ciba`,
}
const server = await startServer(
  { ...CIBA_SETTINGS, METRICS_PORT: await freePort(), UNSAFE_OUTBOUND_ORIGINS: origin },
  { seed: { ...CIBA_SEED, clients: [...CIBA_SEED.clients, PINGED] } },
)
const counted = async () => {
  const text = await server.server.metrics!.text()
  const ping = (result: string) => sumOf(text, 'latchkey_deliveries_total', { kind: 'ciba-ping', result })
  return {
    asked: sumOf(text, 'latchkey_ciba_requests_total'),
    allowed: sumOf(text, 'latchkey_ciba_answers_total', { answer: 'allowed' }),
    denied: sumOf(text, 'latchkey_ciba_answers_total', { answer: 'denied' }),
    taken: ping('done'),
    failed: ping('failed'),
  }
}
const token = { client_notification_token: 'a-token-of-theirs' }

test('each is counted once, and a request that is refused not at all', async () => {
  const text = await server.server.metrics!.text()
  expect(text).toContain('latchkey_ciba_answers_total{answer="denied"} 0')
  expect(await counted()).toEqual({ asked: 0, allowed: 0, denied: 0, taken: 0, failed: 0 })
  const nobody = await call(server, { scope: 'openid', login_hint: 'nobody' })
  expect(nobody).toMatchObject({ status: 400 })

  await ask(server)
  await approve(server, await ask(server, token, PINGED))
  await expect.poll(counted).toEqual({ asked: 2, allowed: 1, denied: 0, taken: 1, failed: 0 })

  status = 400
  const asked = await ask(server, token, PINGED)
  const person = createUserAgent(server.url)
  const { username, password } = ALICE
  const consent = await person.submit(await person.get(pageOf(server, asked)), 'login', {
    username,
    password,
  })
  await person.submit(consent, 'consent', { decision: 'deny' })
  await expect.poll(counted).toEqual({ asked: 3, allowed: 1, denied: 1, taken: 1, failed: 1 })
})
