/** What somebody does who means harm to the server, or to those it knows, and has a token of SCIM or is one of its users. */
import { expect, onTestFinished, test } from 'vitest'
import { scimAs, startScim } from '../../support/scim.ts'

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
