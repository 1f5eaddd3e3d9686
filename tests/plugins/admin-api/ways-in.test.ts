/**
 * By what people sign in, as programs see it and take it away: passkeys, linked sign-ins, a second factor.
 * @needs latchkey-passkeys latchkey-upstreams latchkey-second-factor
 */
import { expect, test } from 'vitest'
import { callerAs, startApi } from '../../support/admin-api.ts'
import { setUpFactor } from '../../support/authenticator.ts'
import { BOB } from '../../support/sign-in.ts'
import { signedIn } from '../account/owner.ts'
import { addPasskey } from '../passkeys/passkeys.ts'

const server = await startApi()
const { oauth } = server.server
const call = await callerAs(server, 'people')
const alice = (await oauth.users.find('alice'))!
const bob = (await oauth.users.find('bob'))!

test('passkeys are listed and deleted one by one, but the last way in stays', async () => {
  const agent = await signedIn(server)
  for (const _one of [1, 2]) await addPasskey(server, agent)
  const path = `/users/${alice.id}/passkeys`
  const { passkeys } = (await call('GET', path)).body
  const one = {
    id: expect.any(String),
    name: expect.any(String),
    created_at: expect.stringMatching(/Z$/),
    synced: false,
  }
  expect(passkeys).toEqual([one, one])
  expect((await call('DELETE', `/users/${bob.id}/passkeys/${passkeys[0].id}`)).status).toBe(404)
  expect((await call('DELETE', `${path}/${passkeys[0].id}`)).status).toBe(204)
  await oauth.users.removePassword(alice.id)
  const last = await call('DELETE', `${path}/${passkeys[1].id}`)
  expect([last.status, last.body.error]).toEqual([400, 'invalid_request'])
  expect((await call('GET', path)).body.passkeys).toHaveLength(1)
  const [event] = (await oauth.audit.list({ type: 'user.passkey_removed', user: alice.id })).events
  expect(event!.actor).toEqual({ kind: 'client', id: 'people' })
})

test('a linked sign-in is listed and unlinked', async () => {
  const link = { upstream: 'corp', issuer: 'https://id.corp.example', subject: 's-1', name: 'Bob of Corp' }
  await server.database.query(
    `insert into user_records (user_id, kind, record_id, value) values ('${bob.id}', 'upstream-link', 'l-1', '${JSON.stringify(link)}')`,
  )
  const path = `/users/${bob.id}/linked-sign-ins`
  const told = { ...link, id: 'l-1', created_at: expect.stringMatching(/Z$/) }
  expect((await call('GET', path)).body).toEqual({ linked_sign_ins: [told] })
  expect((await call('DELETE', `${path}/l-1`)).status).toBe(204)
  expect((await call('GET', path)).body).toEqual({ linked_sign_ins: [] })
})

test('a second factor is taken from who has lost it, and they sign in without', async () => {
  await setUpFactor(await signedIn(server, BOB), server.url)
  expect((await call('DELETE', `/users/${bob.id}/second-factor`)).status).toBe(204)
  expect((await call('DELETE', `/users/${bob.id}/second-factor`)).status).toBe(404)
  const [event] = (await oauth.audit.list({ type: 'user.factor_removed', user: bob.id })).events
  expect(event!.actor).toEqual({ kind: 'client', id: 'people' })
})
