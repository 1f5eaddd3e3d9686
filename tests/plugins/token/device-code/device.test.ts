/**
 * The device's side of the device authorization grant (RFC 8628 §3.1, §3.5), at two processes of one database.
 * @needs latchkey-device-code
 */
import { expect, test } from 'vitest'
import { spawnBeside } from '../../../support/beside.ts'
import {
  allow, answer, ask, type Asked, DEVICE_SEED, DEVICE_SETTINGS, enter, GRANT_TYPE, newPerson, poll, PRINTER,
} from '../../../support/device.ts' // prettier-ignore
import { spawnServer } from '../../../support/process.ts'
import { basic } from '../../../support/requests.ts'
import { goThrough, WEB } from '../../../support/sign-in.ts'

const server = await spawnServer(DEVICE_SETTINGS, { seed: DEVICE_SEED })
const beside = await spawnBeside(server.settings, server.database)

/** As if a stored time lay so many seconds further back. */
async function age(kind: string, member: string, seconds: number): Promise<void> {
  await server.database.query(
    `update artifacts set value = jsonb_set(value::jsonb, array[$2], to_jsonb((value->>$2)::bigint - $3 * 1000))
     where kind = $1`,
    [kind, member, seconds],
  )
}

test('a confidential client, with Basic and client_id in the body at once: one method', async () => {
  const credentials = basic(PRINTER.client_id, PRINTER.client_secret)
  const form = { client_id: PRINTER.client_id, scope: 'read_books' }
  const asked = await answer(server.post('/device_authorization', form, credentials))
  expect(asked).toMatchObject({ status: 200 })
  await allow(server, asked as unknown as Asked)
  const exchange = { grant_type: GRANT_TYPE, device_code: String(asked['device_code']) }
  expect(await answer(server.post('/token', exchange))).toMatchObject({
    status: 401,
    error: 'invalid_client',
  })
  const tokens = await answer(server.post('/token', exchange, credentials))
  expect(tokens).toMatchObject({ status: 200, scope: 'read_books' })
  // It is not registered for refresh_token.
  expect(tokens).not.toHaveProperty('refresh_token')
})

test('what a device may not ask is refused at once', async () => {
  const refusal = async (form: Record<string, string>) => {
    const { status, error } = await answer(server.post('/device_authorization', form))
    return { status, error }
  }
  const invalid = (error: string) => ({ status: 400, error })
  expect(await refusal({ scope: 'openid' })).toEqual({ status: 401, error: 'invalid_client' })
  expect(await refusal({ client_id: 'nobody', scope: 'openid' })).toMatchObject({ status: 401 })
  expect(await refusal({ client_id: 'tv' })).toEqual(invalid('invalid_scope'))
  expect(await refusal({ client_id: 'tv', scope: 'write_books' })).toEqual(invalid('invalid_scope'))
  const resource = 'https://elsewhere.example'
  expect(await refusal({ client_id: 'tv', scope: 'openid', resource })).toEqual(invalid('invalid_target'))
  expect(
    await answer(
      server.post('/device_authorization', { scope: 'openid' }, basic(WEB.client_id, WEB.client_secret)),
    ),
  ).toMatchObject(invalid('unauthorized_client'))
})

test('the metadata names the endpoint and the grant', async () => {
  const metadata = await answer(beside.get('/.well-known/openid-configuration'))
  expect(metadata).toMatchObject({ device_authorization_endpoint: `${server.url}/device_authorization` })
  expect(metadata['grant_types_supported']).toContain(GRANT_TYPE)
})

test('a poll that comes too early slows the device down, and the interval stays longer', async () => {
  const asked = await ask(server)
  const pending = { status: 400, error: 'authorization_pending' }
  const slowDown = { status: 400, error: 'slow_down' }
  expect(await poll(server, asked)).toMatchObject(pending)
  expect(await poll(beside, asked)).toMatchObject(slowDown)
  await age('device-polls', 'lastAt', 7)
  expect(await poll(server, asked)).toMatchObject(slowDown)
  await age('device-polls', 'lastAt', 15)
  expect(await poll(beside, asked)).toMatchObject(pending)
})

test('a code is good for one device once: whoever comes second gets nothing', async () => {
  const asked = await ask(server)
  await allow(server, asked)
  expect(await poll(server, asked, { client_id: 'web' })).toMatchObject({ status: 401 })
  const polls = Array.from({ length: 20 }, (_, at) => poll(at % 2 === 0 ? server : beside, asked))
  const answers = await Promise.all(polls)
  expect(answers.filter(({ status }) => status === 200)).toHaveLength(1)
  const losers = answers.filter(({ status }) => status !== 200)
  expect(new Set(losers.map(({ status, error }) => `${status} ${String(error)}`))).toEqual(
    new Set(['400 invalid_grant']),
  )
  const refused = await enter(server, newPerson(server), asked)
  expect(refused).toMatchObject({ status: 400 })
  expect(refused.body).toContain('id="user-code-error"')
})

test('a device_code is of no use to another client, and scope in the poll is not read', async () => {
  const asked = await ask(server)
  await allow(server, asked)
  const theirs = { grant_type: GRANT_TYPE, device_code: asked.device_code }
  const credentials = basic(PRINTER.client_id, PRINTER.client_secret)
  expect(await answer(server.post('/token', theirs, credentials))).toMatchObject({
    status: 400,
    error: 'invalid_grant',
  })
  expect(await poll(server, asked, { scope: 'everything' })).toMatchObject({
    status: 200,
    scope: 'openid read_books',
  })
})

test('what expired is told to the device, and refused to the person', async () => {
  const asked = await ask(server)
  const person = newPerson(server)
  const login = await enter(server, person, asked)
  await age('device', 'expiresAt', 601)
  expect(await poll(server, asked)).toMatchObject({ status: 400, error: 'expired_token' })
  expect(await enter(server, newPerson(server), asked)).toMatchObject({ status: 400 })
  const late = await goThrough(person, login)
  expect(late).toMatchObject({ status: 400 })
  expect(late.body).toContain('id="error"')
})
