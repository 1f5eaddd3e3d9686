/**
 * A telephone that asks people, by somebody who knows nothing of this checkout: one plugin on the installed package, whose push service
 * is away at first, while the server is killed.
 */
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { approve, ask, CALL_CENTRE, CIBA_SEED, pageOf, poll } from '../support/ciba.ts'
import { compile, installStranger, pack } from '../support/packages.ts'
import { spawnServer } from '../support/process.ts'
import { startReceiver } from '../support/receiver.ts'
import { ALICE, BOB, getTokens } from '../support/sign-in.ts'
import { until } from '../support/until.ts'
import { createUserAgent } from '../support/user-agent.ts'
import { isThere } from '../support/left-out.ts'

const folder = await installStranger('phone', 'latchkey', await pack('latchkey'), ['@types/node'])
const compiling = compile(folder)
compiling.catch(() => {})
let isAway = true
const service = await startReceiver((_request, response) => response.writeHead(isAway ? 503 : 200).end())
const origin = `http://127.0.0.1:${service.port}`
const settings = {
  OIDC_CIBA: 'true',
  PLUGINS: join(folder, 'phone.ts'),
  PUSH_SERVICE: `${origin}/push`,
  UNSAFE_OUTBOUND_ORIGINS: origin,
}
/** Nobody but the telephone tells them. */
const seed = { ...CIBA_SEED, users: [{ ...ALICE, email_verified: false }, BOB] }

test.runIf(isThere('latchkey-ciba'))(
  'it is told once the push service is there again, through the death of the server, and the person decides',
  async () => {
    await compiling
    let server = await spawnServer(settings, { seed })
    const { access_token } = await getTokens(server)
    const headers = { authorization: `Bearer ${access_token}`, 'content-type': 'application/json' }
    const body = JSON.stringify({ token: 'a telephone' })
    const registered = await server.request('/phones', { method: 'POST', headers, body })
    expect(await registered.json()).toEqual({ registered: true })

    const asked = await ask(server, { binding_message: 'W4SCT' })
    await ask(server, { login_hint: 'bob' })
    await until(() => {
      if (service.received.length === 0) throw new Error('nobody has pushed yet')
    })
    await server.stop('SIGKILL')
    isAway = false
    server = await spawnServer(server.settings, { database: server.database })
    await server.database.query(`update outbox set due_at = now() - interval '1 second'`)
    await until(async () => {
      if ((await server.database.query('select id from outbox')).length > 0) throw new Error('it still waits')
    })
    const [first] = service.received
    expect(first).toMatchObject({ method: 'POST', url: '/push' })
    expect(JSON.parse(first!.body)).toEqual({
      to: 'a telephone',
      text: `${CALL_CENTRE.client_name}: W4SCT`,
      uri: pageOf(server, asked),
    })
    // Bob has none.
    expect(new Set(service.received.map((one) => one.body)).size).toBe(1)
    await approve(server, asked, createUserAgent(server.url))
    expect(await poll(server, asked)).toMatchObject({ status: 200 })
  },
)
