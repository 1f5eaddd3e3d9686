/** Whatever a user types, or a program sends in their name: an answer of ours, and pages that still open. */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { startServer } from '../../support/server.ts'
import { ALICE, SEED } from '../../support/sign-in.ts'
import { findForm } from '../../support/user-agent.ts'
import { open, signedIn } from './owner.ts'

const server = await startServer({ LOG_LEVEL: 'error' }, { seed: SEED })
const agent = await signedIn(server)
const text = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 60 }).map((one) => one.toWellFormed()),
  fc.webUrl(),
  fc.emailAddress(),
  fc.constantFrom('1990-01-01', '0000-02-29', 'en-GB', 'Europe/Berlin', '+1 555 0100', '\r\n', '<b>"', 'a'.repeat(4000), '..'),
) // prettier-ignore
const FIELDS = ['name', 'nickname', 'birthdate', 'picture', 'website', 'locale', 'zoneinfo', 'phone_number', 'street_address', 'country', 'version', 'email', 'roles', '__proto__', 'constructor'] // prettier-ignore

test.each([
  ['/profile', 'profile'],
  ['/email', 'change-email'],
])('at %s: never a fault, and the page opens still', async (path, id) => {
  await fc.assert(
    fc.asyncProperty(fc.dictionary(fc.constantFrom(...FIELDS), text, { maxKeys: 6 }), async (fields) => {
      const answer = await agent.submit(await open(server, agent, path), id, fields)
      const refused = findForm(answer, id) !== undefined || answer.body.includes('id="error-code"')
      expect([fields, answer.status, refused]).toEqual([fields, expect.toBeOneOf([200, 400]), true])
    }),
    { numRuns: 150 },
  )
  expect((await open(server, agent, path)).status).toBe(200)
  expect((await open(server, agent)).status).toBe(200)
  expect(server.output()).toBe('')
})

test('at the password: never a fault, and the password stays', async () => {
  const page = await open(server, agent, '/password')
  await fc.assert(
    fc.asyncProperty(text, async (typed) => {
      const answer = await agent.submit(page, 'change-password', {
        current_password: typed,
        new_password: 'x',
      })
      expect([typed, answer.status]).toEqual([typed, 400])
    }),
    { numRuns: 50 },
  )
  expect(await server.server.oauth.users.hasPassword('alice', ALICE.password)).toBe(true)
})

test('at the query of every page: never a fault', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.constantFrom('', '/profile', '/email', '/password', '/sessions', '/sessions/end', '/apps', '/apps/revoke', '/activity'),
      fc.dictionary(fc.constantFrom('after', 'before', 'done', 'saved', 'x', '__proto__'), text),
      async (path, query) => {
        const { status } = await open(server, agent, `${path}?${new URLSearchParams(query).toString()}`)
        expect([200, 400]).toContain(status)
      },
    ),
    { numRuns: 200 },
  )
  expect(server.output()).toBe('')
}) // prettier-ignore
