/**
 * The page of a user in the administration says which directories know them.
 * @needs latchkey-admin
 */
import { expect, test } from 'vitest'
import { scimAs, startScim, USER } from '../../support/scim.ts'
import { signedIn } from '../admin/administrator.ts'

const server = await startScim()
const { oauth } = server.server
const agent = await signedIn(server)
const pageOf = async (id: string) => agent.get(`${server.url}/admin/user?id=${id}`)
/** What the page says of directories, in one line; undefined for nothing. */
const toldOf = async (id: string) =>
  /<ul class="rows" id="directory-list">(.*?)<\/ul>/s
    .exec((await pageOf(id)).body)?.[1]
    ?.replaceAll(/<[^>]*>/g, '')
    .replaceAll(/\s+/g, ' ')
    .trim()
const calls = [await scimAs(server, 'directory'), await scimAs(server, 'other')]

test('each, by what it knows them, also when it is gone', async () => {
  const sent = { schemas: [USER], userName: 'zoe', externalId: 'e-<4711>' }
  const { id } = (await calls[0]!('POST', '/Users', sent)).body
  expect(await toldOf(id)).toMatch(/^directory Known there as e-&lt;4711&gt;, since .*UTC\.$/)
  expect((await pageOf(id)).body).toContain('<a href="/admin/client?client_id=directory">')

  await calls[1]!('PUT', `/Users/${id}`, { ...sent, externalId: 'other-1' })
  expect(await toldOf(id)).toContain('other Known there as other-1')
  await oauth.clients.delete('directory')
  expect(await toldOf(id)).toContain('directory Deleted Known there as')

  await calls[1]!('PUT', `/Users/${id}`, { schemas: [USER], userName: 'zoe' })
  expect(await toldOf(id)).not.toContain('other')
})

test('of somebody whom none knows there is nothing to say', async () => {
  const { id } = await oauth.users.create({ username: 'local' })
  expect(await toldOf(id)).toBeUndefined()
})
