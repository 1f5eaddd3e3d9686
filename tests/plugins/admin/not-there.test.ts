/** What is not there, or not any more, is said in the administration itself, with the way to its list. */
import { expect, test } from 'vitest'
import { startServer } from '../../support/server.ts'
import { ROOT, signedIn } from './administrator.ts'

const server = await startServer({}, { seed: { users: [ROOT], scopes: [{ name: 'read' }] } })
const agent = await signedIn(server)

test.each([
  ['/client?client_id=gone', 'There is no such client', '/clients'],
  ['/client/authorizations?client_id=gone', 'There is no such client', '/clients'],
  ['/user?id=gone', 'There is no such user', '/users'],
  ['/role?name=gone', 'There is no such role', '/roles'],
  ['/scope?id=gone', 'There is no such scope', '/scopes'],
  ['/resource?id=gone', 'There is no such resource', '/resources'],
  ['/trusted-issuer?id=gone', 'There is no such issuer', '/trusted-issuers'],
])('%s', async (path, heading, list) => {
  const { status, body } = await agent.get(`${server.url}/admin${path}`)
  expect([status, /<h1>([^<]*)</.exec(body)?.[1]]).toEqual([404, heading])
  expect(body).toMatch(new RegExp(`<nav class="back"[^>]*><a href="/admin${list}">`))
  expect(body).toContain('<nav class="area"')
})

test('a form that was opened before it went comes to the same', async () => {
  const page = await agent.get(`${server.url}/admin/scope?id=read`)
  await agent.submit(page, 'delete-record', { confirm: 'read' })
  for (const form of ['record', 'delete-record']) {
    const { status, body } = await agent.submit(page, form, { confirm: 'read' })
    expect([form, status, body]).toEqual([
      form,
      404,
      expect.stringContaining('<h1>There is no such scope</h1>'),
    ])
  }
})
