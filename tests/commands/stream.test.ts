/** `stream list`. @needs latchkey-shared-signals */
import { expect, test } from 'vitest'
import { commandsHere, runCommandHere } from '../support/command-here.ts'
import * as signals from '../support/shared-signals.ts'

test('list says whose the streams are, where they go, and what waits; no secret of an address, and none where it is off', async () => {
  const server = await signals.startSignals([signals.app('asking'), signals.app('told')])
  const { run, runJson } = commandsHere(server.settings, 'stream')
  expect(await run('list')).toBe('No app has a stream of security events.\n')
  const asking = await signals.signalsAs(server, 'asking')
  const id = await signals.streamOf(asking)
  await asking('POST', '/verify', { stream_id: id })
  const told = await signals.signalsAs(server, 'told')
  const delivery = { method: signals.PUSH, endpoint_url: 'https://told.example/a-canary?key=canary', authorization_header: 'canary' }
  const stream_id = await signals.streamOf(told, delivery, [signals.SESSION_REVOKED])
  await told('POST', '/status', { stream_id, status: 'paused', reason: 'We move.' })
  expect(await runJson('list')).toEqual([
    { client_id: 'asking', stream_id: id, status: 'enabled', method: signals.POLL, events: signals.ALL, waiting: 1, failing_since: null },
    {
      client_id: 'told', stream_id, status: 'paused', reason: 'We move.', method: signals.PUSH, origin: 'https://told.example',
      events: [signals.SESSION_REVOKED], waiting: 0, failing_since: null,
    },
  ])
  expect(await run('list')).toBe('asking  enabled  urn:ietf:rfc:8936  1 wait\ntold  paused  https://told.example  0 wait\n')
  const off = await runCommandHere(['stream', 'list'], { ...server.settings, OIDC_SHARED_SIGNALS: 'off' })
  expect(off).toMatchObject({ status: 1, stderr: expect.stringContaining('OIDC_SHARED_SIGNALS is off') })
}) // prettier-ignore
