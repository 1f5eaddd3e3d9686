/** What somebody does who means harm to the server, or to those it knows, and has a token of SCIM or is one of its users. */
import { expect, onTestFinished, test } from 'vitest'
import { patchOf, scimAs, startScim } from '../../support/scim.ts'

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
