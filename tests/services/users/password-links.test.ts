/** One-time links by which users set their passwords. */
import { beforeEach, expect, test } from 'vitest'
import { kernelOf } from '../../../src/http/kernel-of.ts'
import { startServer } from '../../support/server.ts'
import { dump } from '../../support/traces.ts'
import { giveEverything, whatIsLeft } from '../../support/users.ts'

const server = await startServer({}, { seed: {} })
const { users, passwordLinks, audit } = kernelOf(server.server)
const PASSWORD = 'a password of some length'
const SPENT = { code: 'access_denied', message: expect.stringContaining('this link') as string }
let count = 0
let username: string
let id: string

beforeEach(async () => {
  username = `user-${++count}`
  id = (await users.create({ username, password: 'the former password' })).id
})

async function makeCode(): Promise<string> {
  const { address } = await passwordLinks.make(id)
  const { origin, pathname, searchParams } = new URL(address)
  expect([origin, pathname]).toEqual([server.url, '/set-password'])
  return searchParams.get('token')!
}

test('a link sets the password once, and ends everything of the user', async () => {
  await giveEverything(server.database, id)
  const code = await makeCode()
  expect(code).toMatch(/^[\w-]{43}$/)
  expect(await passwordLinks.find(code)).toMatchObject({ id, username })
  expect((await whatIsLeft(server.database, id))['sessions']).toBe(1)
  expect(await passwordLinks.setPassword(code, PASSWORD)).toMatchObject({ id })
  expect(await whatIsLeft(server.database, id)).toEqual({ sessions: 0, codes: 0, authorizations: 0 })
  expect([await users.hasPassword(username, PASSWORD), await passwordLinks.find(code)]).toEqual([true, null])
  await expect(passwordLinks.setPassword(code, 'another of some length')).rejects.toMatchObject(SPENT)
  expect(await users.hasPassword(username, PASSWORD)).toBe(true)
  const { events } = await audit.list({ user: id })
  expect(events.map(({ type }) => type)).toEqual(['user.password_changed', 'user.password_link_made', 'user.registered'])
}) // prettier-ignore

test('of those who use it at once, one sets the password', async () => {
  const code = await makeCode()
  const tries = ['first', 'second', 'third'].map((which) => `the ${which} of three passwords`)
  const results = await Promise.allSettled(tries.map(async (one) => passwordLinks.setPassword(code, one)))
  expect(results.map(({ status }) => status).toSorted()).toEqual(['fulfilled', 'rejected', 'rejected'])
  const right = tries[results.findIndex(({ status }) => status === 'fulfilled')]!
  expect(await users.hasPassword(username, right)).toBe(true)
})

test.each<[string, () => Promise<unknown>]>([
  ['another link', async () => passwordLinks.make(id)],
  ['a new password', async () => users.setPassword(username, PASSWORD)],
  ['disabling', async () => users.disable(username)],
  ['the end of all that they have', async () => users.revokeTokens({ id })],
  ['disabling and enabling', async () => users.enable((await users.disable(username)).username)],
  ['a day', async () => server.database.query(
    `update users set password_link_ends_at = password_link_ends_at - interval '1 day'`)],
])('%s ends a link', async (_what, end) => {
  const code = await makeCode()
  await end()
  expect(await passwordLinks.find(code)).toBeNull()
  await expect(passwordLinks.setPassword(code, PASSWORD)).rejects.toMatchObject(SPENT)
}) // prettier-ignore

test('other changes, and signing in, do not', async () => {
  const code = await makeCode()
  await users.update(username, { name: 'A name', roles: ['staff'] })
  await users.enable(username)
  await users.authenticate(username, 'the former password')
  expect(await passwordLinks.find(code)).not.toBeNull()
})

test('a password that cannot be one leaves the link as it is', async () => {
  const code = await makeCode()
  for (const bad of ['', 'short', 'x'.repeat(1025), 'with a NUL \0 inside'])
    await expect(passwordLinks.setPassword(code, bad)).rejects.toThrow(/^password must/)
  expect(await passwordLinks.find(code)).not.toBeNull()
})

test('nobody gets one who may not sign in, or is not there', async () => {
  await users.disable(username)
  await expect(passwordLinks.make(id)).rejects.toThrow('may not sign in')
  for (const nobody of ['no id', '00000000-0000-0000-0000-000000000000'])
    await expect(passwordLinks.make(nobody)).rejects.toMatchObject({ code: 'invalid_request' })
})

test('codes lie nowhere, and what is none is nobody’s', async () => {
  const code = await makeCode()
  expect(await dump(server.database)).not.toContain(code)
  expect(server.output()).not.toContain(code)
  for (const bad of ['', 'x', code.slice(1), `${code}A`, '\0', '\ud800'])
    expect(await passwordLinks.find(bad)).toBeNull()
})
