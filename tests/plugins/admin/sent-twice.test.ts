/** A form of the administration that comes twice, as by a double click without JavaScript: each answer leads where the first one does. */
import { expect, test } from 'vitest'
import { rowsWith } from '../../support/left-out.ts'
import { startServer } from '../../support/server.ts'
import { SEED } from '../../support/sign-in.ts'
import { createAssertionKey } from '../../support/trusted-issuer.ts'
import { findForm, type Page } from '../../support/user-agent.ts'
import { doneOn, ROOT, signedIn } from './administrator.ts'

const key = await createAssertionKey()
const server = await startServer({}, { seed: { ...SEED, users: [...SEED.users, ROOT] } })
const agent = await signedIn(server)
const at = async (path: string): Promise<Page> => agent.get(`${server.url}/admin${path}`)

/** Both are sent from one page: what the second one shows is what a browser keeps. */
async function twice(page: Page, form: string, fields: Record<string, string>): Promise<Page> {
  const first = await agent.submit(page, form, fields)
  const second = await agent.submit(page, form, fields)
  expect([first.status, second.status, second.url]).toEqual([200, 200, first.url])
  expect(doneOn(second)).toBe(doneOn(first))
  return second
}

const jwks = JSON.stringify({ keys: [key.jwk] })
const KINDS: Record<string, [path: string, id: string, made: Record<string, string>, changed: Record<string, string>]> = {
  'a scope': ['/scope', 'twice', { name: 'twice', description: 'Read\r\nthem' }, { description: 'Read all' }],
  'a resource': ['/resource', 'https://twice.example/', { resource: 'https://twice.example/' }, { name: 'Twice' }],
  'a trusted issuer': ['/trusted-issuer', 'https://twice.example', { issuer: 'https://twice.example', jwks, subject: 'email' }, { disabled: 'true' }],
  ...rowsWith('latchkey-upstreams', {
    'an upstream': ['/upstream', 'twice', { id: 'twice', issuer: 'https://twice.example', client_id: 'here', name: 'Twice' }, { name: 'Again' }],
  }),
} // prettier-ignore

test.each(Object.entries(KINDS))('%s is registered once, and changed once', async (_what, [path, id, made, changed]) => {
  const one = `${path}?${new URLSearchParams({ id }).toString()}`
  expect(doneOn(await twice(await at(`${path}s/new`), 'record', made))).toBeDefined()
  expect(doneOn(await twice(await at(one), 'record', changed))).toBeDefined()
  const page = await at(one)
  for (const [name, value] of Object.entries(changed)) expect(findForm(page, 'record')!.fields[name]).toBe(value)
}) // prettier-ignore

test('a name that is registered otherwise stays refused', async () => {
  await agent.submit(await at('/scopes/new'), 'record', { name: 'taken', description: 'One' })
  const other = await agent.submit(await at('/scopes/new'), 'record', { name: 'taken', description: 'Other' })
  expect([other.status, other.body]).toEqual([400, expect.stringContaining('Is already registered.')])
})

test('a role is registered once', async () => {
  await twice(await at('/roles/new'), 'record', { name: 'editor' })
  const other = await agent.submit(await at('/roles/new'), 'record', { name: ' editor' })
  expect([other.status, other.body]).toEqual([400, expect.stringContaining('Is that of another role.')])
})

test('a client and a user are changed once', async () => {
  const { client_id: id } = SEED.clients[0]!
  await twice(await at(`/client?client_id=${id}`), 'client', { client_name: 'Twice' })
  const user = await server.server.oauth.users.find(SEED.users[0]!.username)
  await twice(await agent.get(`${server.url}/admin/user?id=${user!.id}`), 'user', { name: 'Twice' })
})
