/** Whatever an administrator types about a user: an answer of ours, and a page of every user still. */
import { randomUUID } from 'node:crypto'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { startServer } from '../../support/server.ts'
import { findForm } from '../../support/user-agent.ts'
import { ROOT, signedIn } from './administrator.ts'

const server = await startServer({ LOG_LEVEL: 'error' }, { seed: { users: [ROOT] } })
const { users } = server.server.oauth
const agent = await signedIn(server)
const FIELDS = ['username', 'name', 'email', 'email_verified', 'roles', 'password', 'locale', 'birthdate', 'zoneinfo', 'website', 'postal_code', 'version', 'confirm', '__proto__'] // prettier-ignore

const text = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 60 }).map((one) => one.toWellFormed()),
  fc.emailAddress(),
  fc.webUrl(),
  fc.constantFrom('admin', 'root', 'one', 'de', '..', '\r\n', '<b>"', 'a'.repeat(4000), 'yes'),
)
const typed = fc.dictionary(fc.constantFrom(...FIELDS), text, { maxKeys: 6 })

test.each(['new', 'one'])('at the form of the user %s', async (which) => {
  const path = which === 'new' ? '/users/new' : `/user?id=${(await users.create({ username: `one ${randomUUID()}`, roles: ['admin'] })).id}`
  await fc.assert(
    fc.asyncProperty(typed, async (fields) => {
      const page = await agent.get(`${server.url}/admin${path}`)
      const answer = await agent.submit(page, 'user', fields)
      // Refused by the form, with all that was typed, or by the server's own page of errors.
      const refused = findForm(answer, 'user') !== undefined || answer.body.includes('id="error-code"')
      expect([fields, answer.status, answer.status === 400 ? refused : true]).toEqual([fields, expect.toBeOneOf([200, 400]), true])
    }),
    { numRuns: 80 },
  )
  for (const { id } of await users.list({ limit: 1000 }))
    expect([id, (await agent.get(`${server.url}/admin/user?id=${id}`)).status]).toEqual([id, 200])
  expect(server.output()).toBe('')
}) // prettier-ignore

test('at the query of every page, and of the page of a link', async () => {
  const { id } = (await users.find(ROOT.username))!
  await fc.assert(
    fc.asyncProperty(
      fc.constantFrom('/admin/users', '/admin/users/new', '/admin/user', '/admin/user/link', '/admin/user/disable', '/admin/user/delete', '/set-password'),
      fc.dictionary(fc.constantFrom('id', 'after', 'search', 'done', 'handle', 'token'), fc.oneof(text, fc.constant(id))),
      async (path, query) => {
        const { status } = await agent.get(`${server.url}${path}?${new URLSearchParams(query).toString()}`)
        expect([path, query, status]).toEqual([path, query, expect.toBeOneOf([200, 400, 404, 410])])
      },
    ),
    { numRuns: 150 },
  )
  expect(server.output()).toBe('')
}) // prettier-ignore
