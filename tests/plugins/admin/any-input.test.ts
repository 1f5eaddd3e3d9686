/** Whatever an administrator types, or a program sends in their name: an answer of ours, and nothing that others fall over. */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { CHOICES } from '../../../plugins/admin/clients/client-field-table.ts'
import { startServer } from '../../support/server.ts'
import { findForm } from '../../support/user-agent.ts'
import { openClient, ROOT, signedIn } from './administrator.ts'

const server = await startServer({ LOG_LEVEL: 'error' }, { seed: { users: [ROOT] } })
const { clients } = server.server.oauth
await clients.create({ client_id: 'one', scope: ['a'] })
const agent = await signedIn(server)
const FIELDS = ['client_id', 'client_name', 'redirect_uris', 'post_logout_redirect_uris', 'scope', 'grant_types', 'response_types', ...Object.keys(CHOICES), 'logo_uri', 'type', 'version', '__proto__', 'constructor'] // prettier-ignore

const text = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 60 }).map((one) => one.toWellFormed()),
  fc.webUrl({ withFragments: true, withQueryParameters: true }),
  fc.array(fc.webUrl(), { maxLength: 5 }).map((lines) => lines.join('\r\n')),
  fc.constantFrom('code', 'none', 'client_credentials', 'openid', 'jwt', '..', '\r\n', '<b>"', 'a'.repeat(4000), 'one'),
) // prettier-ignore
const typed = fc.dictionary(fc.constantFrom(...FIELDS), text, { maxKeys: 6 })

test.each(['new', 'one'])('at the form of %s: never a fault, and every client has a page still', async (which) => {
  const open = async () =>
    which === 'new' ? agent.get(`${server.url}/admin/clients/new?type=service`) : openClient(server, agent, which)
  await fc.assert(
    fc.asyncProperty(typed, async (fields) => {
      const page = await open()
      const sent = { ...fields, ...(which === 'new' ? {} : { client_id: which }) }
      const answer = await agent.submit(page, 'client', sent)
      // Refused by the form, with all that was typed, or by the server's own page of errors.
      const refused = findForm(answer, 'client') !== undefined || answer.body.includes('id="error-code"')
      expect([sent, answer.status, answer.status === 400 ? refused : true]).toEqual([sent, expect.toBeOneOf([200, 400]), true])
    }),
    { numRuns: 150 },
  )
  for (const { client_id: id = '' } of await clients.list('', 1000))
    expect([id, (await openClient(server, agent, id)).status]).toEqual([id, 200])
  expect(server.output()).toBe('')
}) // prettier-ignore

test.each(['valueOf', 'constructor', '__proto__'])('%s, which every object has, is no choice', async (name) => {
  const page = await agent.get(`${server.url}/admin/clients/new?type=service`)
  const chosen = Object.fromEntries(Object.keys(CHOICES).map((field) => [field, name]))
  const answer = await agent.submit(page, 'client', chosen)
  expect([answer.status, findForm(answer, 'client')?.fields]).toEqual([400, expect.objectContaining(chosen)])
  expect(server.output()).toBe('')
}) // prettier-ignore

test('at the query of every page: never a fault', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.constantFrom('/clients', '/clients/new', '/client', '/client/secret', '/client/delete', '', '/keys', '/client/authorizations', '/keys/rotate', '/keys/revoke', '/audit', '/audit/export', '/scopes', '/scope', '/scope/delete', '/resources', '/resource'),
      fc.dictionary(fc.constantFrom('after', 'before', 'id', 'search', 'type', 'client_id', 'handle', 'saved', 'user', 'from', 'to', 'format', 'x'), text),
      async (path, query) => {
        const { status } = await agent.get(`${server.url}/admin${path}?${new URLSearchParams(query).toString()}`)
        expect([200, 400, 404, 410]).toContain(status)
      },
    ),
    { numRuns: 200 },
  )
}) // prettier-ignore
