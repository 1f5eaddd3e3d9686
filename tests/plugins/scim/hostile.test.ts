/** What somebody does who means harm to the server, or to those it knows, and has a token of SCIM or is one of its users. */
import { describe, expect, onTestFinished, test } from 'vitest'
import { patchOf, scimAs, startScim, USER } from '../../support/scim.ts'

const server = await startScim()
const { users } = server.server.oauth
const call = await scimAs(server, 'directory')

test('a cursor that is refused leaves no question to the database that nobody waits for', async () => {
  const lost: unknown[] = []
  const hear = (reason: unknown): unknown => lost.push(reason)
  process.on('unhandledRejection', hear)
  const { find } = users
  // Not spied upon: a spy waits for what it answers.
  Object.assign(users, { find: async () => Promise.reject(new Error('the database is away')) })
  onTestFinished(() => {
    Object.assign(users, { find })
    process.off('unhandledRejection', hear)
  })
  const query = new URLSearchParams({ cursor: 'none', filter: 'userName eq "alice"' }).toString()
  expect((await call('GET', `/Users?${query}`)).body.scimType).toBe('invalidCursor')
  await new Promise(setImmediate)
  expect(lost).toEqual([])
})

test('a change of something else vouches for no address that the directory never said', async () => {
  const trusting = await startScim({ SCIM_TRUST_EMAIL: true })
  const { users: people } = trusting.server.oauth
  // As a sign-in elsewhere says of somebody, who says so there.
  const { id } = await people.create({ username: 'mallory', email: 'boss@example.com' })
  const send = await scimAs(trusting, 'directory')
  for (const change of [{ path: 'title', value: 'Dr' }, { path: 'nickName', value: 'M' }, { path: 'active', value: true }, { path: 'emails', op: 'add', value: [{ value: 'm@home.example', type: 'home' }] }])
    expect((await send('PATCH', `/Users/${id}`, patchOf({ op: 'replace', ...change }))).status).toBe(200)
  expect((await people.get(id)).claims).toEqual({ nickname: 'M', email: 'boss@example.com' })
  const work = { op: 'replace', path: 'emails[type eq "work"].value', value: 'mallory@example.com' }
  await send('PATCH', `/Users/${id}`, patchOf(work))
  expect((await people.get(id)).claims).toMatchObject({ email: 'mallory@example.com', email_verified: true })
}) // prettier-ignore

describe('a body of 64 KiB keeps the process busy for no time worth naming', () => {
  const ones = (length: number, value: unknown): unknown[] => Array.from({ length }, () => value)
  const long = Array.from({ length: 330 }, () => 'value pr').join(' or ')

  test.each<[string, readonly object[]]>([
    ['many values beside many others', [1, 2].map((one) => ({ op: 'add', path: 'emails', value: ones(12_000, one) }))],
    ['many values that are looked at by long filters', [{ op: 'add', path: 'emails', value: ones(9000, {}) }, ...ones(7, { op: 'replace', path: `emails[${long}].value`, value: 'x' }) as object[]]],
    ['a path that is none', [{ op: 'add', path: `${'a'.repeat(60_000)}!`, value: 1 }]],
    ['a name that is none', [{ op: 'add', value: { [`${'a'.repeat(60_000)}!`]: 1 } }]],
    ['a path with many brackets', [{ op: 'add', path: `${USER}:${'a[:'.repeat(20_000)}`, value: 1 }]],
  ])('%s', async (_name, operations) => {
    const { id } = (await users.find('alice'))!
    const began = process.cpuUsage()
    const { status, body } = await call('PATCH', `/Users/${id}`, patchOf(...operations))
    expect([status, body.status]).toEqual([400, '400'])
    expect(process.cpuUsage(began).user / 1000).toBeLessThan(400)
  })
}) // prettier-ignore
